#!/bin/sh
# The system's programs that `make test` runs, each with its package of Debian and of Fedora.
#
#     system_tools.sh check      exit 1 with the packages' names if some are missing and cannot be installed here
#     system_tools.sh install    installs what is missing: as root, where there is apt-get
set -u

tools='
clang++ --version|clang|clang
chromium-headless-shell --version || chromium --version || google-chrome --version|chromium-headless-shell|chromium-headless
pkg-config --version|pkg-config|pkgconf-pkg-config
script --version|bsdutils|util-linux-script
valgrind --version|valgrind|valgrind
test -f "${HIP_PATH:-/usr}/include/hip/hip_runtime_api.h"|libamdhip64-dev|rocm-hip-devel
'

# Two words, the packages of Debian and of Fedora, for each tool that is missing.
missing() {
    echo "$tools" | while IFS= read -r line; do
        test=${line%|*|*}
        [ -z "$line" ] || eval "$test" >/dev/null 2>&1 || { packages=${line#"$test|"}; echo "${packages%|*} ${packages#*|}"; }
    done
}

names() { # WORD, of what `missing` printed
    missing | cut -d ' ' -f "$1" | tr '\n' ' ' | sed 's/ $//'
}

[ -n "$(missing)" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    [ "$1" = install ] || exit 0
    apt-get update --quiet && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends $(names 1)
    [ -n "$(missing)" ] || exit 0
fi
echo "make test: tools are missing: apt-get install $(names 1), or dnf install $(names 2)" >&2
exit 1
