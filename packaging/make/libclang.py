"""Prints shell settings with which bindgen finds the libclang of the virtual environment, unless LIBCLANG_PATH is set.

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
    try:
        import clang
    except ImportError:
        system = glob.glob("/usr/lib*/llvm*/lib*/libclang[-.][0-9s]*so*") or ctypes.util.find_library("clang")
        if system or os.environ.get("LIBCLANG_PATH"):
            return {}
        sys.exit(
            "libclang is missing: install libclang-dev (Debian, Ubuntu) or clang-devel (Fedora, RHEL), "
            "or set LIBCLANG_PATH"
        )
    native = Path(next(iter(clang.__path__))) / "native"
    return {"LIBCLANG_PATH": str(native), "BINDGEN_EXTRA_CLANG_ARGS": compiler_headers()}


# The file outlives this environment, so that a LIBCLANG_PATH of today is left to be found each time.
assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings().items())
print(f'[ -n "${{LIBCLANG_PATH:-}}" ] || {{ :; {assignments}; }}')
