#!/usr/bin/env bash
# Proves that the project needs only what its README says: a minimal Debian 12 of its own, the README's packages, the tracked
# files, and then `make demo` as an ordinary user and as root and `make test` as root, each with an empty cargo cache, with a
# clock. Needs root, debootstrap (installed if apt can) and a network.
#
#     packaging/fresh.sh [WHAT...]     WHAT: demo, demo-root, test, or any other target of make; all three by default
#
# What this machine needs to reach its package indexes is copied: apt's sources, certificates, pip's and cargo's settings,
# proxies. The Rust toolchain is this machine's: the README asks for rustup, which a chroot need not repeat.
set -euo pipefail
cd "$(dirname "$0")/.."

what=("$@")
[ ${#what[@]} -gt 0 ] || what=(demo demo-root test)
work=${CK_SELECT_FRESH:-$PWD/target/fresh}
root=$work/root

fail() {
    echo "fresh: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "needs root, for debootstrap and chroot"
# In namespaces of its own, so that whatever ends this script ends its mounts and processes, too: a mount that outlives it
# would hand the machine's own /dev to the next `rm -rf target`.
if [ -z "${CK_SELECT_FRESH_INSIDE:-}" ]; then
    CK_SELECT_FRESH_INSIDE=1 exec unshare --mount --propagation private --pid --fork --kill-child "$0" "$@"
fi
if ! command -v debootstrap >/dev/null; then
    command -v apt-get >/dev/null || fail "needs debootstrap (Fedora: dnf install debootstrap)"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi
# The README's prerequisites: | `make TARGET`: ... | `$ sudo apt-get install PACKAGES` | ...
packages_for() {
    sed -n "s/^| \`make $1\`.*\`\$ sudo apt-get install \([^\`]*\)\`.*/\1/p" README.md
}
for target in demo test; do
    [ -n "$(packages_for $target)" ] || fail "README.md does not say what 'make $target' needs of Debian"
done

rm -rf --one-file-system "$root"
mkdir -p "$work" "$root"

# The base is made once: it is Debian's, not ours.
base=$work/base.tar
if [ ! -f "$base" ]; then
    mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
    [ -n "$mirror" ] || mirror=$(awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list 2>/dev/null || true)
    echo "fresh: debootstrap, once"
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "${mirror:-http://deb.debian.org/debian}" \
        >"$work/debootstrap.log" 2>&1 || { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
    tar -C "$root" -cf "$base.new" . && mv "$base.new" "$base"
else
    tar -C "$root" -xf "$base"
fi

copy() {
    [ ! -e "$1" ] || { mkdir -p "$root$(dirname "$1")" && cp -aL "$1" "$root$(dirname "$1")/"; }
}
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/resolv.conf /etc/hosts /etc/pip.conf \
    /etc/ssl/certs/ca-certificates.crt; do
    copy "$file"
done
for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/*registry*; do
    copy "$file"
done
mkdir -p "$root/opt"
cp -a "$(rustc --print sysroot)" "$root/opt/rust"
settings=()
while IFS='=' read -r name value; do
    settings+=("$name=$value")
done < <(env | grep -E '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE|CARGO_HTTP_[A-Z_]*|PIP_CERT|PIP_INDEX_URL)=' || true)
# Nothing of this machine is mounted there: its own processes, and a /dev with what every program may expect.
mkdir -p "$root"/{proc,sys,dev}
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in "null 3" "zero 5" "full 7" "random 8" "urandom 9"; do
    mknod -m 666 "$root/dev/${node% *}" c 1 "${node#* }"
done
mknod -m 666 "$root/dev/tty" c 5 0
ln -s /proc/self/fd "$root/dev/fd"
for stream in "stdin 0" "stdout 1" "stderr 2"; do
    ln -s "/proc/self/fd/${stream#* }" "$root/dev/${stream% *}"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"

in_root() { # USER FOLDER COMMAND...
    local user=$1 folder=$2
    shift 2
    chroot "$root" su "$user" -s /bin/bash -c 'cd "$0" && exec env -i HOME="$HOME" USER="$USER" LANG=C.UTF-8 \
        PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
        "$folder" "${settings[@]}" "$@"
}

install() { # TARGET
    local packages
    packages=$(packages_for "$1")
    echo "fresh: apt-get install $packages"
    # shellcheck disable=SC2086 # words on purpose
    in_root root / sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages" \
        >"$work/apt.log" 2>&1 || { tail -n 5 "$work/apt.log" >&2; fail "the README's packages cannot be installed"; }
}
install demo
chroot "$root" useradd --create-home ordinary

# What `git clone` would bring: the last commit.
git diff --quiet HEAD || echo 'fresh: tries the last commit, without the changes that are not committed' >&2
checkout() { # USER, prints the folder
    local home folder
    home=$(chroot "$root" su "$1" -s /bin/sh -c 'echo $HOME')
    folder=$home/ck-select
    mkdir -p "$root$folder"
    git archive HEAD | tar -xf - -C "$root$folder"
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
    chroot "$root" rm -rf "$folder/target" "${folder%/*}/.cargo/registry"
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
        install test
        run root "$target"
        ;;
    esac
done
printf 'fresh: %s\n' "${report[@]}"
exit $status
