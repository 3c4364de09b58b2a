# Miri over the C boundary: undefined behaviour in what Rust does with the addresses that C gives. SQLite and the HIP runtime are C, and
# cannot be run there; the tests that need them are left out by cfg(miri).

MIRI_TOOLCHAIN ?= nightly

.PHONY: miri-ffi
miri-ffi:
	@rustup +$(MIRI_TOOLCHAIN) component list --installed 2>/dev/null | grep -q '^miri' || \
		rustup toolchain install $(MIRI_TOOLCHAIN) --profile minimal --component miri --component rust-src
	MIRIFLAGS='-Zmiri-disable-isolation' $(CARGO) +$(MIRI_TOOLCHAIN) miri test --package ck-select --lib ffi::
