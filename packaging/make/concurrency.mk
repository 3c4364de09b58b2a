# The lock-free parts under tools that look for what tests see only by luck.

.PHONY: loom tsan

# The orders in which threads can run, of the decision cache and of publishing a state. Part of `make test`.
loom: needs-cargo needs-cc
	$(CARGO) test --package ck-select-loom

# ThreadSanitizer over the registry, with many threads, and over a race that is one on purpose, so that nobody takes silence for
# proof. The standard library has to be built with it, so it takes five minutes or more the first time, and the component rust-src.
# arc-swap and crossbeam order by fences, which ThreadSanitizer does not know; what they guard is atomic here,
# so nothing has to be suppressed.
TSAN_TARGET := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
tsan: needs-rustup needs-cxx
	@rustup component list --installed 2>/dev/null | grep -q '^rust-src' || rustup component add rust-src
	RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=thread --cfg tsan' TSAN_OPTIONS=halt_on_error=1 \
		$(CARGO) test -Zbuild-std --target $(TSAN_TARGET) --package ck-select --lib --test race --test registry \
		-- registry:: ffi:: race child selections_are_consistent winners_of_other_processes a_repeated_problem

# Selections from 1 to 16 threads, as a table: one program, which may be carried to another machine of the same system.
.PHONY: bench-threads
bench-threads: needs-cargo needs-cc
	$(CARGO) build --release --package ck-select --example bench_threads
	$(TARGET_DIR)/release/examples/bench_threads $(or $(SECONDS_EACH_CASE),1) $(or $(THREADS),1,2,4,8,16)

# Everything at once for SECONDS: selections from 64 threads, a writer, a store, tuning. Fails where memory or open files grow.
.PHONY: soak
soak: needs-cargo needs-cc
	$(CARGO) build --release --package ck-select --example soak
	$(TARGET_DIR)/release/examples/soak $(or $(SECONDS),3600) $(or $(THREADS),64)

# Faults from outside: kills of commands and writers, calls of the system that fail, full disks, vanishing folders, errors of the runtime,
# signals, forks, copies of the library. FAULTS=N does N times as much of what the tests do. docs/reliability.md has the runs.
.PHONY: faults
faults: needs-cargo needs-cxx lightgbm-tools
	CK_SELECT_FAULTS=$(or $(FAULTS),3) $(CARGO) test --package ck-select --test faults --test forks --test store --test hip \
		-- --nocapture
	CK_SELECT_FAULTS=$(or $(FAULTS),3) $(CARGO) test --package ck-select --test native -- copies --nocapture
	$(LIGHTGBM_TEST_ENV) CK_SELECT_FAULTS=$(or $(FAULTS),3) $(CARGO) test --package ckselect --features train --test faults -- --nocapture
	$(CARGO) test --package ckselect --test bench -- chaos --nocapture
