# Miri over the C boundary: undefined behaviour in what Rust does with the addresses that C gives. The HIP runtime is C, and cannot
# be run there; the tests that need it are left out by cfg(miri).

MIRI_TOOLCHAIN ?= nightly

.PHONY: miri-ffi
miri-ffi: needs-rustup needs-cc
	@$(call miri_installed,$(MIRI_TOOLCHAIN)) || { echo 'miri-ffi: SKIPPED, no Miri: rustup cannot install it here'; exit 0; }; set -x; \
	MIRIFLAGS='-Zmiri-disable-isolation' $(CARGO) +$(MIRI_TOOLCHAIN) miri test --package ck-select --lib ffi::
