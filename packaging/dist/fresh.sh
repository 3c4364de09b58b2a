#!/usr/bin/env bash
# Proves that what `make dist` made is enough: each is installed in a minimal Debian 12 of its own, without Rust and without the
# repository, and used from there: `ckselect`, a C program through pkg-config, C++ programs through CMake, and Python.
# packaging/root.sh says what that needs.
#
#     packaging/dist/fresh.sh DIST
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$(realpath "$1")
work=${CK_SELECT_FRESH:-$PWD/target/fresh}
. packaging/root.sh
alone packaging/dist/fresh.sh "$dist"

one() { # PATTERN
    local found
    found=$(compgen -G "$dist/$1") && [ "$(wc -l <<<"$found")" = 1 ] || fail "not one $dist/$1: run make dist first"
    echo "$found"
}
tar_file=$(one '*.tar.gz')
library=$(one 'libck-select_*.deb')
tools=$(one 'ckselect_*.deb')
wheel=$(one '*.whl')

begin() { # NAME FILE...
    new_root "$work/$1"
    shift
    mkdir -p "$root/try/tests/golden/models"
    cp "$@" packaging/dist/try.sh "$root/try/"
    cp -R cpp_examples "$root/try/"
    cp -R tests/golden/models/{conv,gemm}_small "$root/try/tests/golden/models/"
}

begin tar "$tar_file"
install g++ make cmake pkg-config
tar -C "$root/opt" -xzf "$tar_file" --no-same-owner
name=$(basename "$tar_file" .tar.gz)
in_root root /try ./try.sh "/opt/$name" lib

begin deb "$library" "$tools"
install g++ make cmake pkg-config dpkg-dev man-db "/try/$(basename "$library")" "/try/$(basename "$tools")"
lib=$(cd "$root/usr" && echo lib/*/libck_select.so)
in_root root /try ./try.sh /usr "${lib%/*}"
# A package with a program that links the library depends on it.
in_root root /try sh -c "mkdir debian && printf 'Source: x\n\nPackage: x\nArchitecture: any\n' > debian/control \
    && dpkg-shlibdeps -O by_pkg_config" | grep -F 'libck-select-abi-' || fail "the library's shlibs are not found"
in_root root / sh -c 'man --where ckselect-rank && test -s /usr/share/bash-completion/completions/ckselect' \
    || fail "no manual pages or completions"
in_root root / apt-get purge -y -qq libck-select ckselect >/dev/null
left=$(find "$root/usr" -path '*ck*select*' -not -path '*/try/*')
[ -z "$left" ] || fail "purging leaves $left"

begin wheel "$wheel"
install python3 python3-venv
mkdir -p "$root/try/python/tests" "$root/try/wheels"
mv "$root/try/$(basename "$wheel")" "$root/try/wheels"
cp python/tests/try_wheel.py "$root/try/python/tests/"
in_root root /try python3 python/tests/try_wheel.py wheels /tmp

echo "fresh: $(basename "$tar_file"), $(basename "$library"), $(basename "$tools") and $(basename "$wheel") are enough"
