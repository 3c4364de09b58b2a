# Something to install without building, into target/dist: a tar.gz, two .deb packages (on Debian and its like) and a wheel; and a bill of
# materials (CycloneDX) and the checksums of all.
#
#     make dist           needs cargo, a C compiler, binutils, python3 with venv; on Debian also dpkg-dev
#     make fresh-dist     installs each in a minimal Debian of its own and builds programs there; as root
#
# All that is inside carries the time of the last commit, or SOURCE_DATE_EPOCH, and no program names a folder of this machine, so that a build
# can be repeated. `ckselect` is without `train`, which needs LightGBM.

DIST          := $(TARGET_DIR)/dist
DIST_NAME      = ck-select-$(INSTALL_VERSION)-linux-$(shell uname -m)
DIST_STAGE    := $(DIST)/stage
DIST_ROOT      = $(DIST_STAGE)/tar/$(DIST_NAME)
DIST_TEXTS    := $(DIST_STAGE)/texts
DIST_VENV     := $(TARGET_DIR)/tools/wheel
DIST_MULTIARCH = $(shell dpkg-architecture -qDEB_HOST_MULTIARCH)
# For a try: `make dist DIST_PROFILE=demo` compiles in a fraction of the time.
DIST_PROFILE  ?= release
DIST_BUILT    := $(TARGET_DIR)/$(subst dev,debug,$(DIST_PROFILE))
DIST_INSTALL   = $(MAKE) --silent install-files BUILT='$(DIST_BUILT)' CKSELECT='$(DIST_BUILT)/ckselect' STRIP_FLAG=-s

.PHONY: dist dist-build dist-texts dist-tar dist-deb dist-wheel dist-sums fresh-dist

# One after the other: make -j would begin with packages of what is not built yet.
dist: needs-cargo needs-cc needs-binutils needs-python needs-dpkg
	@export SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}"; \
	for step in build texts tar deb wheel sums; do echo "dist: $$step"; $(MAKE) --silent dist-$$step || exit; done
	@rm -r '$(DIST_STAGE)'
	@ls -l '$(DIST)'

dist-build:
	RUSTFLAGS="$$RUSTFLAGS --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=/cargo --remap-path-prefix=$(CURDIR)=/ck-select" \
		$(CARGO) build --profile $(DIST_PROFILE) --locked --package ck-select --package ckselect
	rm -rf '$(DIST)'
	install -d '$(DIST_TEXTS)'

# The licences of what others wrote: of the library alone, and of both packages. What both consist of.
dist-texts:
	CARGO='$(CARGO)' python3 -B packaging/dist/licences.py ck-select > '$(DIST_TEXTS)/library'
	CARGO='$(CARGO)' python3 -B packaging/dist/licences.py ck-select ckselect > '$(DIST_TEXTS)/all'
	CARGO='$(CARGO)' python3 -B packaging/dist/sbom.py ck-select ckselect > '$(DIST)/ck-select-$(INSTALL_VERSION).cdx.json'

# Works wherever it is unpacked: the paths in the files for pkg-config and CMake begin with their own.
dist-tar:
	$(DIST_INSTALL) DESTDIR='$(DIST_STAGE)/tar' PREFIX='/$(DIST_NAME)' 'PC_PREFIX=$$$${pcfiledir}/../..'
	install -d '$(DIST_ROOT)/share/ck-select' '$(DIST_ROOT)/share/doc/ck-select'
	cp -R models configs '$(DIST_ROOT)/share/ck-select'
	install -m 644 LICENSE README.md CHANGELOG.md '$(DIST_ROOT)/share/doc/ck-select'
	install -m 644 '$(DIST_TEXTS)/all' '$(DIST_ROOT)/share/doc/ck-select/LICENSES-OF-OTHERS'
	tar --sort=name --mtime="@$$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=u-w \
		-C '$(DIST_STAGE)/tar' -cf - '$(DIST_NAME)' | gzip -9n > '$(DIST)/$(DIST_NAME).tar.gz'

dist-deb:
	@if ! command -v apt-get >/dev/null; then \
		echo 'dist: no .deb packages: what a program depends on is read off an installed Debian'; exit 0; fi; set -e; \
	$(DIST_INSTALL) DESTDIR='$(DIST_STAGE)/deb' PREFIX=/usr LIBDIR='lib/$(DIST_MULTIARCH)' ZSHDIR=share/zsh/vendor-completions; \
	install -d '$(DIST_STAGE)/deb/usr/share/ck-select'; \
	cp -R models configs '$(DIST_STAGE)/deb/usr/share/ck-select'; \
	packaging/dist/deb.sh '$(DIST_STAGE)' '$(DIST)' '$(INSTALL_VERSION)' '$(INSTALL_ABI)'

# Its tag is that of the oldest system whose libc has what both programs need (python/hatch_build.py); auditwheel has to agree.
dist-wheel:
	[ -x '$(DIST_VENV)/bin/auditwheel' ] || $(call installed,$(DIST_VENV),auditwheel)
	CK_SELECT_LIBRARY='$(DIST_ROOT)/lib/$(INSTALL_REAL)' CK_SELECT_COMMAND='$(DIST_ROOT)/bin/ckselect' \
		CK_SELECT_LICENCES='$(DIST_TEXTS)/all' '$(DIST_VENV)/bin/pip' wheel --quiet --disable-pip-version-check --no-deps \
		--wheel-dir '$(DIST)' ./python

dist-sums:
	cd '$(DIST)' && LC_ALL=C sha256sum *.* > SHA256SUMS

fresh-dist:
	packaging/dist/fresh.sh '$(DIST)'
