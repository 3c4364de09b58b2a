# Checks that need tools of their own, which they install where they can: Miri, valgrind, ARM's emulator.
#
#     miri:          the portable walks, the blocks of features and the decision cache, interpreted: undefined behaviour, bounds, data races
#     miri-ffi:      the C boundary and that of LightGBM's functions, interpreted: what Rust does with the addresses that C gives
#     instructions:  instructions of a selection, counted by valgrind, against the budget of packaging/instructions.txt
#     check-ck:      the stand-ins of CK's headers, the adapters and examples against a checkout: CK=DIR
#     arm:           the tests of scoring on 64-bit ARM, through an emulator

NIGHTLY    ?= nightly
# $(call miri_installed,toolchain): installs it where rustup can.
miri_installed = rustup component list --installed --toolchain $(1) 2>/dev/null | grep -q '^miri' \
	|| rustup toolchain install $(1) --profile minimal --component miri,rust-src
ARM_TARGET := aarch64-unknown-linux-gnu
ARM_GCC    := aarch64-linux-gnu-gcc
# Installs Debian packages where this may: $(call debian,program,packages)
debian = command -v $(1) >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& { apt-get update --quiet && apt-get install --yes --quiet $(2); } >/dev/null 2>&1; }

.PHONY: miri miri-ffi instructions arm check-ck

check-ck:
	@python3 '$(CURDIR)/packaging/check_ck.py' '$(CK)'

miri: needs-rustup needs-cc
	@$(call miri_installed,$(NIGHTLY))
	MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-deterministic-floats' $(CARGO) +$(NIGHTLY) miri test \
		--package ck-select --package ck-select-model --lib -- scoring:: features::pairs:: registry::cache:: forest::sections::

# The HIP runtime is C, and cannot be run there; the tests that need it are left out by cfg(miri).
miri-ffi: needs-rustup needs-cc
	@$(call miri_installed,$(NIGHTLY))
	MIRIFLAGS='-Zmiri-disable-isolation' $(CARGO) +$(NIGHTLY) miri test --package ck-select --lib ffi::
	MIRIFLAGS='-Zmiri-disable-isolation' $(CARGO) +$(NIGHTLY) miri test --package ck-select-lgbm --lib

# Valgrind knows no AVX-512, so what it runs is the AVX2 form: counts are for comparing, not for guessing times.
INSTRUCTION_BUDGET := packaging/instructions.txt
instructions: needs-cargo needs-cc
	@$(call debian,valgrind,valgrind) || { \
		echo 'instructions: no valgrind: apt-get install valgrind, or dnf install valgrind' >&2; exit 1; }; \
	set -e; $(CARGO) build --release --quiet --package ck-select --example select_path; \
	over=0; while read -r case budget; do \
		case $$case in ''|'#'*) continue;; esac; \
		log=$$(mktemp); \
		calls=$$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*select_path*measured*' \
			$(TARGET_DIR)/release/examples/select_path $$case 2>"$$log"); \
		awk -v calls="$$calls" -v case=$$case -v budget=$$budget '/Collected/ { found = $$NF / calls } END { \
			printf "instructions: %-10s %7d a selection, budget %d (%d selections)\n", case, found, budget, calls; \
			exit found > budget * 1.05 || found == 0 }' "$$log" || over=1; \
		rm -f "$$log"; \
	done < $(INSTRUCTION_BUDGET); \
	if [ $$over = 1 ]; then \
		echo 'instructions: more than 5 % over the budget. Find out why (callgrind_annotate), or raise the budget in' >&2; \
		echo '$(INSTRUCTION_BUDGET) and say in the commit what the instructions buy' >&2; exit 1; fi

arm: needs-rustup needs-cc
	@missing() { echo "arm: no $$1" >&2; exit 1; }; \
	{ rustup target list --installed | grep -qx $(ARM_TARGET) || rustup target add $(ARM_TARGET); } \
		|| missing '$(ARM_TARGET): rustup cannot install it here'; \
	$(call debian,$(ARM_GCC),gcc-aarch64-linux-gnu libc6-dev-arm64-cross) \
		|| missing '$(ARM_GCC): apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross; Fedora has none with a C library'; \
	$(call debian,qemu-aarch64,qemu-user) || missing 'qemu-aarch64: apt-get install qemu-user, or dnf install qemu-user'; set -x; \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$(ARM_GCC) CC_aarch64_unknown_linux_gnu=$(ARM_GCC) \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
		$(CARGO) test --target $(ARM_TARGET) --package ck-select-model --lib -- scoring:: forest::number::
