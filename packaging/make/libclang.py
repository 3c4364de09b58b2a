"""Prints the shell settings that make bindgen find libclang: LIBCLANG_PATH's, or the virtual environment's.

It is run by the Python of the virtual environment that `lightgbm-tools` makes, whose wheel of libclang has no
headers of the compiler's own: those of the C compiler stand in. Not every platform has a wheel; the system's is
found by bindgen.
"""

import ctypes.util
import glob
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def compiler_headers():
    command = [shutil.which("gcc") or "cc", "-print-file-name=include"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return f"-I{shlex.quote(folder)}"


def settings():
    if own := os.environ.get("LIBCLANG_PATH"):
        return {"LIBCLANG_PATH": own}
    try:
        import clang
    except ImportError:
        if glob.glob("/usr/lib*/llvm*/lib*/libclang[-.][0-9s]*so*") or ctypes.util.find_library("clang"):
            return {}
        sys.exit(
            "libclang is missing: install libclang-dev (Debian, Ubuntu) or clang-devel (Fedora, RHEL), "
            "or set LIBCLANG_PATH"
        )
    native = Path(next(iter(clang.__path__))) / "native"
    return {"LIBCLANG_PATH": str(native), "BINDGEN_EXTRA_CLANG_ARGS": compiler_headers()}


print(" ".join(f"{name}={shlex.quote(value)}" for name, value in settings().items()))
