# Installs the library for C and C++ programs, and the command line with its manual pages and completions:
#
#     make install PREFIX=/usr/local [DESTDIR=/tmp/root] [BINDIR=bin] [LIBDIR=lib] [INCLUDEDIR=include]
#         [MANDIR=share/man] [ZSHDIR=share/zsh/site-functions] [STRIP_FLAG=-s]
#
# The command line is without `ckselect train`, which needs LightGBM: TRAIN=1 includes it.
#
# It is a script and not cargo-c: that is 348 packages to compile, cargo itself among them, before eight files are copied,
# and it makes no CMake files. For those who have it, `cargo cinstall` installs the same libraries and headers.

PREFIX     ?= /usr/local
BINDIR     ?= bin
LIBDIR     ?= lib
INCLUDEDIR ?= include
MANDIR     ?= share/man
ZSHDIR     ?= share/zsh/site-functions
# Where the built libraries are.
BUILT      ?= $(TARGET_DIR)/release
CKSELECT   ?= $(BUILT)/ckselect
OBJCOPY    ?= objcopy
# What ck_select.pc gives as its prefix.
PC_PREFIX  ?= $(PREFIX)

INSTALL_ABI     := $(shell sed -n 's/^.define CK_SELECT_ABI_VERSION //p' include/ck_select.h)
INSTALL_VERSION := $(shell sed -n '/^\[workspace.package\]/,/^$$/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
INSTALL_REAL    := libck_select.so.$(INSTALL_ABI).$(INSTALL_VERSION)
INSTALL_BIN     := $(DESTDIR)$(PREFIX)/$(BINDIR)
INSTALL_LIB     := $(DESTDIR)$(PREFIX)/$(LIBDIR)
INSTALL_INCLUDE := $(DESTDIR)$(PREFIX)/$(INCLUDEDIR)
INSTALL_CMAKE   := $(INSTALL_LIB)/cmake/ck_select
INSTALL_MAN     := $(DESTDIR)$(PREFIX)/$(MANDIR)/man1
# Where each shell looks for completions.
INSTALL_BASH    := $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ckselect
INSTALL_ZSH     := $(DESTDIR)$(PREFIX)/$(ZSHDIR)/_ckselect
INSTALL_FISH    := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ckselect.fish
# From the CMake files back to the prefix: one more step up than there are folders.
INSTALL_UP      := $(shell echo '$(LIBDIR)/cmake/ck_select' | sed 's,[^/][^/]*,..,g')
INSTALL_FILL    := sed -e 's,@PREFIX@,$(PC_PREFIX),g' -e 's,@LIB@,$(LIBDIR),g' -e 's,@INCLUDE@,$(INCLUDEDIR),g' \
	-e 's,@ABI@,$(INSTALL_ABI),g' -e 's,@VERSION@,$(INSTALL_VERSION),g' -e 's,@TO_PREFIX@,$(INSTALL_UP),g'

.PHONY: install install-files install-static uninstall
install: needs-cargo needs-cc $(if $(TRAIN),ckselect)
	$(CARGO) build --release --quiet --package ck-select $(if $(TRAIN),,--package ckselect)
	@$(MAKE) --no-print-directory install-files

install-files:
	install -d '$(INSTALL_BIN)' '$(INSTALL_LIB)/pkgconfig' '$(INSTALL_CMAKE)' '$(INSTALL_INCLUDE)/ck_select' '$(INSTALL_INCLUDE)/ck_select_dispatcher'
	install $(STRIP_FLAG) -m 755 '$(CKSELECT)' '$(INSTALL_BIN)/ckselect'
	install -d '$(INSTALL_MAN)' '$(dir $(INSTALL_BASH))' '$(dir $(INSTALL_ZSH))' '$(dir $(INSTALL_FISH))'
	'$(INSTALL_BIN)/ckselect' dev man '$(INSTALL_MAN)'
	'$(INSTALL_BIN)/ckselect' dev completions bash > '$(INSTALL_BASH)'
	'$(INSTALL_BIN)/ckselect' dev completions zsh > '$(INSTALL_ZSH)'
	'$(INSTALL_BIN)/ckselect' dev completions fish > '$(INSTALL_FISH)'
	install $(STRIP_FLAG) -m 755 '$(BUILT)/libck_select.so' '$(INSTALL_LIB)/$(INSTALL_REAL)'
	ln -sf '$(INSTALL_REAL)' '$(INSTALL_LIB)/libck_select.so.$(INSTALL_ABI)'
	ln -sf 'libck_select.so.$(INSTALL_ABI)' '$(INSTALL_LIB)/libck_select.so'
	@$(MAKE) --no-print-directory install-static
	install -m 644 include/*.h include/*.hpp '$(INSTALL_INCLUDE)'
	install -m 644 include/ck_select/*.hpp '$(INSTALL_INCLUDE)/ck_select'
	install -m 644 include/ck_select_dispatcher/*.hpp '$(INSTALL_INCLUDE)/ck_select_dispatcher'
	$(INSTALL_FILL) packaging/cmake/ck_select.pc.in > '$(INSTALL_LIB)/pkgconfig/ck_select.pc'
	$(INSTALL_FILL) packaging/cmake/ck_selectConfig.cmake.in > '$(INSTALL_CMAKE)/ck_selectConfig.cmake'
	$(INSTALL_FILL) packaging/cmake/ck_selectConfigVersion.cmake.in > '$(INSTALL_CMAKE)/ck_selectConfigVersion.cmake'

# One object that shows only the C interface, because the Rust runtime inside would clash with that of a program that has its own, and holds
# only what the interface reaches: without the rest and without the runtime's debug sections it has half the size. The bitcode that
# the runtime's objects carry goes, too, because ar takes them for a compiler's and fails.
install-static:
	@set -e; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	if command -v $(LD) >/dev/null && command -v $(OBJCOPY) >/dev/null; then \
		sed '/^#/d' include/exports.txt > "$$made/exports"; \
		$(LD) -r --gc-sections $$(sed 's/^/--undefined=/' "$$made/exports") '$(BUILT)/libck_select.a' -o "$$made/ck_select.o"; \
		$(OBJCOPY) --keep-global-symbols="$$made/exports" --remove-section .llvmbc --remove-section .llvmcmd \
			"$$made/ck_select.o"; \
		$(OBJCOPY) $(if $(STRIP_FLAG),--strip-unneeded,--strip-debug) "$$made/ck_select.o"; \
		$(AR) rcs "$$made/libck_select.a" "$$made/ck_select.o"; \
	else \
		echo 'install: without ld and objcopy the static library also shows the symbols of the Rust runtime' >&2; \
		cp '$(BUILT)/libck_select.a' "$$made/libck_select.a"; \
	fi; \
	install -m 644 "$$made/libck_select.a" '$(INSTALL_LIB)/libck_select.a'

uninstall:
	rm -f '$(INSTALL_BIN)/ckselect' '$(INSTALL_LIB)/$(INSTALL_REAL)' '$(INSTALL_LIB)/libck_select.so.$(INSTALL_ABI)' \
		'$(INSTALL_LIB)/libck_select.so' '$(INSTALL_LIB)/libck_select.a' '$(INSTALL_LIB)/pkgconfig/ck_select.pc' \
		'$(INSTALL_CMAKE)/ck_selectConfig.cmake' '$(INSTALL_CMAKE)/ck_selectConfigVersion.cmake' \
		$(patsubst include/%,'$(INSTALL_INCLUDE)/%',$(wildcard include/*.h include/*.hpp)) '$(INSTALL_MAN)'/ckselect.1 '$(INSTALL_MAN)'/ckselect-*.1 \
		'$(INSTALL_BASH)' '$(INSTALL_ZSH)' '$(INSTALL_FISH)'
	rm -rf '$(INSTALL_INCLUDE)/ck_select' '$(INSTALL_INCLUDE)/ck_select_dispatcher'
	-rmdir '$(INSTALL_CMAKE)'
