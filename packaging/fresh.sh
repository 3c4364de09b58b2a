#!/usr/bin/env bash
# Proves that the project needs only what its README says: a minimal Debian 12 of its own, the README's packages, a clone of
# the last commit, and then `make demo` as an ordinary user and as root and `make test` as root, each with an empty cargo cache, with a
# clock. packaging/root.sh says what that needs.
#
#     packaging/fresh.sh [WHAT...]     WHAT: demo, demo-root, test, or any other target of make, such as ci; the three by default
#
# The Rust toolchain is this machine's: the README asks for rustup, which a chroot need not repeat.
set -euo pipefail
cd "$(dirname "$0")/.."

what=("$@")
[ ${#what[@]} -gt 0 ] || what=(demo demo-root test)
work=${CK_SELECT_FRESH:-$PWD/target/fresh}
. packaging/root.sh
alone packaging/fresh.sh "$@"

# The README's prerequisites: | `make TARGET`: ... | `$ sudo apt-get install PACKAGES` | ...
packages_for() {
    sed -n "s/^| \`make $1\`.*\`\$ sudo apt-get install \([^\`]*\)\`.*/\1/p" README.md
}
for target in demo test; do
    [ -n "$(packages_for $target)" ] || fail "README.md does not say what 'make $target' needs of Debian"
done

new_root "$work/root"
mkdir -p "$root/opt"
cp -a "$(rustc --print sysroot)" "$root/opt/rust"
# shellcheck disable=SC2046 # words on purpose
install $(packages_for demo)
chroot "$root" useradd --create-home ordinary

git diff --quiet HEAD || echo 'fresh: tries the last commit, without the changes that are not committed' >&2
checkout() { # USER, prints the folder
    local home folder
    home=$(chroot "$root" su "$1" -s /bin/sh -c 'echo $HOME')
    folder=$home/ck-select
    rm -rf "$root$folder"
    git clone --quiet --depth 1 "file://$PWD" "$root$folder"
    if [ -f "$HOME/.cargo/config.toml" ]; then
        mkdir -p "$root$home/.cargo" && cp "$HOME/.cargo/config.toml" "$root$home/.cargo/"
    fi
    chroot "$root" chown -R "$1": "$home"
    echo "$folder"
}

status=0
report=()
run() { # USER TARGET
    local begin folder rc=0
    folder=$(checkout "$1")
    chroot "$root" rm -rf "${folder%/*}/.cargo/registry"
    echo "fresh: make $2 as $1"
    begin=$(date +%s)
    in_root "$1" "$folder" make "$2" 2>&1 | tee "$work/$2-$1.log" || rc=1
    report+=("make $2 as $1: $(($(date +%s) - begin)) s, $([ $rc = 0 ] && echo passed || echo FAILED)")
    [ $rc = 0 ] || status=1
}

for target in "${what[@]}"; do
    case $target in
    demo) run ordinary demo ;;
    demo-root) run root demo ;;
    *)
        # shellcheck disable=SC2046 # words on purpose
        install $(packages_for test)
        run root "$target"
        ;;
    esac
done
printf 'fresh: %s\n' "${report[@]}"
exit $status
