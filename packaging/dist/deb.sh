#!/usr/bin/env bash
# Makes the two .deb packages of an installation under /usr:
#
#     deb.sh STAGE OUT VERSION ABI     STAGE/deb is the installation, STAGE/texts has the licences of others
#
#     libck-select    the library, shared and static, with all that compiles and links against it
#     ckselect        the command line; the library is inside of it
#
# A program that links the library depends on `libck-select-abi-N`: another version of the same binary interface will do.
# DEBFULLNAME and DEBEMAIL say who maintains them.
set -euo pipefail
stage=$1 out=$2 version=$3 abi=$4
architecture=$(dpkg --print-architecture)
work=$stage/packages
mkdir -p "$work/debian" "$work/ckselect/usr/share" "$work/libck-select"
# dpkg-shlibdeps reads the names of the packages here.
printf 'Source: ck-select\n\nPackage: libck-select\nArchitecture: any\n\nPackage: ckselect\nArchitecture: any\n' >"$work/debian/control"

mv "$stage/deb/usr/bin" "$work/ckselect/usr/"
for folder in "$stage"/deb/usr/share/*; do
    mv "$folder" "$work/ckselect/usr/share/"
done
rmdir "$stage/deb/usr/share"
mv "$stage/deb/usr" "$work/libck-select/"
gzip -9n "$work"/ckselect/usr/share/man/man1/*

package() { # NAME TEXTS PROGRAM SECTION SUMMARY DESCRIPTION [FIELD...]
    local name=$1 texts=$2 program=$3 section=$4 summary=$5 description=$6 root=$work/$1 depends
    shift 6
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$name"
    cat LICENSE "$stage/texts/$texts" >"$root/usr/share/doc/$name/copyright"
    gzip -9nc CHANGELOG.md >"$root/usr/share/doc/$name/changelog.gz"
    depends=$(cd "$work" && dpkg-shlibdeps -O "-p$name" "-e${program#"$work/"}")
    # As any folder of a package: not by this user's umask.
    chmod -R go=u-w "$root"
    {
        printf '%s\n' "Package: $name" "Version: $version" "Architecture: $architecture" \
            "Maintainer: ${DEBFULLNAME:-The maintainers of ck-select} <${DEBEMAIL:-root@localhost}>" \
            "Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)" \
            "Depends: ${depends#*=}" "$@" "Section: $section" 'Priority: optional' \
            "Description: $summary" "$description"
    } >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
}

mkdir -p "$work/libck-select/DEBIAN"
echo "libck_select $abi libck-select-abi-$abi (>= $version)" >"$work/libck-select/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$work/libck-select/DEBIAN/triggers"
package libck-select library "$(echo "$work"/libck-select/usr/lib/*/libck_select.so."$abi".*)" libdevel \
    'chooses the fastest GPU kernel for a problem' \
    ' The library for C and C++, shared and static, its headers, and files for
 pkg-config and CMake.' "Provides: libck-select-abi-$abi (= $version)"
package ckselect all "$work/ckselect/usr/bin/ckselect" science \
    'measures GPU kernels and judges models that choose among them' \
    ' The command line of ck-select, with models, lists of kernels, manual pages
 and completions.'
