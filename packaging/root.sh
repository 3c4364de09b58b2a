# A minimal Debian 12 in a folder of its own, for scripts that source this. `work` is the folder for what they keep.
#
#     alone "$0" "$@"                 first: goes on in namespaces of its own
#     new_root FOLDER                 makes one there, and sets `root`
#     in_root USER FOLDER COMMAND...  runs a command there
#     install PACKAGES...             Debian's packages
#
# What this machine needs to reach its package indexes is copied: apt's sources, certificates, pip's settings, proxies.
# Needs root, debootstrap (installed if apt can) and a network.

fail() {
    echo "fresh: $1" >&2
    exit 1
}

# Whatever ends the script ends its mounts and processes, too: a mount that outlives it would hand the machine's own /dev to the next
# `rm -rf target`.
alone() {
    [ "$(id -u)" = 0 ] || fail "needs root, for debootstrap and chroot"
    command -v unshare >/dev/null || fail "no unshare: apt-get install util-linux, or dnf install util-linux"
    if [ -z "${CK_SELECT_FRESH_INSIDE:-}" ]; then
        CK_SELECT_FRESH_INSIDE=1 exec unshare --mount --propagation private --pid --fork --kill-child "$@"
    fi
    if ! command -v debootstrap >/dev/null; then
        command -v apt-get >/dev/null || fail "no debootstrap: dnf install debootstrap"
        apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    fi
}

copy() {
    [ ! -e "$1" ] || { mkdir -p "$root$(dirname "$1")" && cp -aL "$1" "$root$(dirname "$1")/"; }
}

new_root() { # FOLDER
    local base=$work/base.tar mirror file node stream
    root=$1
    rm -rf --one-file-system "$root"
    mkdir -p "$work" "$root"
    # The base is made once: it is Debian's, not ours.
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
    rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/resolv.conf /etc/hosts /etc/pip.conf \
        /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/*registry*; do
        copy "$file"
    done
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
}

# How this machine reaches its package indexes.
settings=()
while IFS='=' read -r name value; do
    settings+=("$name=$value")
done < <(env | grep -E '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE|CARGO_HTTP_[A-Z_]*|PIP_CERT|PIP_INDEX_URL)=' || true)

in_root() { # USER FOLDER COMMAND...
    local user=$1 folder=$2
    shift 2
    # shellcheck disable=SC2016 # for the shell in there
    chroot "$root" su -s /bin/bash -c 'cd "$0" && exec env -i HOME="$HOME" USER="$USER" LANG=C.UTF-8 \
        PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
        -- "$user" "$folder" "${settings[@]}" "$@"
}

install() { # PACKAGES...
    echo "fresh: apt-get install $*"
    in_root root / sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $*" \
        >"$work/apt.log" 2>&1 || { tail -n 5 "$work/apt.log" >&2; fail "these packages cannot be installed"; }
}
