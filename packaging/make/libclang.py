"""Finds a libclang that bindgen can use, and prints the shell settings that make bindgen use it.

A file name proves nothing (`libclang-cpp.so.14` is another library), so each candidate is asked to parse what
LightGBM's header includes. It is run by the Python of the virtual environment that `lightgbm-tools` makes; its wheel of
libclang has no headers of the compiler's own, for which gcc's stand in.
"""

import ctypes
import ctypes.util
import glob
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ERROR = 3
HEADERS = ["cstdint", "cstdio", "cstring", "stdint.h", "stdio.h", "string.h"]


def candidates():
    """Pairs of a folder (None: where the loader looks) and a library."""
    if own := os.environ.get("LIBCLANG_PATH"):
        yield from ((own, path) for path in sorted(glob.glob(f"{own}/libclang*.so*") if os.path.isdir(own) else [own]))
    try:
        import clang

        native = Path(next(iter(clang.__path__))) / "native"
        yield str(native), str(native / "libclang.so")
    except ImportError:
        pass
    for path in sorted(glob.glob("/usr/lib*/llvm*/lib*/libclang[-.]*so*"), reverse=True):
        yield str(Path(path).parent), path
    if found := ctypes.util.find_library("clang"):
        yield None, found


def gcc_headers():
    for compiler in ("gcc", "cc"):
        try:
            found = subprocess.run([compiler, "-print-file-name=include"], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        if os.path.isdir(found.stdout.strip()):
            return [f"-I{found.stdout.strip()}"]
    return []


def problems(library, arguments):
    """What is wrong with a library, or None. Each is tried in a process: it loads once in each, and may crash."""
    ran = subprocess.run(
        [sys.executable, __file__, "--try", library, *arguments], capture_output=True, text=True, check=False
    )
    return None if ran.returncode == 0 else (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]


def try_library(library, arguments):
    clang = ctypes.CDLL(library)
    clang.clang_createIndex.restype = ctypes.c_void_p
    clang.clang_parseTranslationUnit.restype = ctypes.c_void_p
    clang.clang_parseTranslationUnit.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int),
        *(ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint),
    ]
    clang.clang_getNumDiagnostics.argtypes = [ctypes.c_void_p]
    clang.clang_getDiagnostic.restype = ctypes.c_void_p
    clang.clang_getDiagnostic.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    clang.clang_getDiagnosticSeverity.argtypes = [ctypes.c_void_p]
    with tempfile.NamedTemporaryFile("w", suffix=".hpp") as header:
        header.write("".join(f"#include <{name}>\n" for name in HEADERS))
        header.flush()
        given = [argument.encode() for argument in ("-x", "c++", "-std=c++14", *arguments)]
        index = clang.clang_createIndex(0, 1)
        unit = clang.clang_parseTranslationUnit(
            index, header.name.encode(), (ctypes.c_char_p * len(given))(*given), len(given), None, 0, 0
        )
    if not unit:
        sys.exit("it cannot parse C++")
    severities = [
        clang.clang_getDiagnosticSeverity(clang.clang_getDiagnostic(unit, place))
        for place in range(clang.clang_getNumDiagnostics(unit))
    ]
    if max(severities, default=0) >= ERROR:
        sys.exit("it does not find the compiler's headers")


def main():
    tried = []
    for folder, library in candidates():
        for arguments in ([], gcc_headers()):
            wrong = problems(library, arguments)
            if wrong is None:
                settings = ({"LIBCLANG_PATH": folder} if folder else {}) | (
                    {"BINDGEN_EXTRA_CLANG_ARGS": " ".join(map(shlex.quote, arguments))} if arguments else {}
                )
                print(" ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items()))
                return
            tried.append(f"{library}: {wrong}")
    listed = "".join(f"\n  {line}" for line in tried)
    sys.exit(
        "libclang is missing: install libclang-dev (Debian, Ubuntu) or clang-devel (Fedora, RHEL), "
        f"or set LIBCLANG_PATH{listed}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--try"]:
        try_library(sys.argv[2], sys.argv[3:])
    else:
        main()
