# Two commands do everything on a fresh machine: `make demo` needs only cargo and a C++ compiler, `make test`
# installs what else the tests need (see packaging/make/) and runs them all.

CARGO ?= cargo
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
# Make's own default is g++, whatever is installed.
ifeq ($(origin CXX),default)
CXX := c++
endif

include packaging/make/tools.mk
include packaging/make/install.mk
include packaging/make/dist.mk
include packaging/make/tiers.mk
include packaging/make/hip.mk
include packaging/make/concurrency.mk
include packaging/make/checks.mk
include packaging/make/python.mk
include packaging/make/rivals.mk
include packaging/make/proof.mk
include packaging/make/docs.mk

.DEFAULT_GOAL := help

.PHONY: help demo examples test ckselect lint messages bench fuzz clean

help:
	@echo 'make demo   choose kernels with a small model, from C++ and from the command line'
	@echo 'make examples   build the C and C++ programs of cpp_examples'
	@echo 'make install PREFIX=/usr/local   install ckselect, the library, headers, pkg-config and CMake files for C and C++'
	@echo 'make ckselect   build the command line with `ckselect train`, which needs LightGBM'
	@echo 'make test   install what the tests need and run all tests'
	@echo 'make prove-amd CK=DIR   try it on an AMD GPU, in half an hour: one page of results; prove-gpu for any GPU'
	@echo 'make results DATA=DIR, make model MODEL=NAME   make the figures of docs/results.md, or a shipped model, again and compare'
	@echo 'make lint   formatting, clippy and documentation, warnings denied'
	@echo 'make docs   the documents and the interfaces of C, C++, Rust and Python as a site with search, target/site'
	@echo 'make bench  compare with LightGBM, as a table; JSON=FILE for programs'
	@echo 'make bench-threads  selections from 1 to 16 threads, with and without a writer'
	@echo 'make faults FAULTS=3  kills, full disks, errors of the runtime, signals, forks, three times as many as the tests'
	@echo 'make soak SECONDS=3600  64 threads, a writer, a store and tuning for an hour: memory and open files must not grow'
	@echo 'make loom tsan miri-ffi   the lock-free parts and the C boundary under loom, ThreadSanitizer and Miri'
	@echo 'make asan   the C boundary as Python uses it, under AddressSanitizer'
	@echo 'make instructions   count the instructions of a selection with valgrind'
	@echo 'make miri   run the unsafe code under Miri, to find undefined behaviour'
	@echo 'make arm    the scoring tests on emulated 64-bit ARM'
	@echo 'make test-python, lint-python, bench-python   the Python package alone'
	@echo 'make inductor  ck_select.inductor with several releases of torch, 3 GB to download for each'
	@echo 'make bench-rivals  rows through LightGBM'"'"'s functions beside lignum, lleaves, tl2cgen, treelite, ONNX Runtime and oneDAL'
	@echo 'make ci      what has to pass before a change lands: .ci/run'
	@echo 'make fresh   time make demo and make test, each in a fresh minimal Debian, as root; WHAT=ci: make ci there'
	@echo 'make dist    a tar.gz, .deb packages, a wheel, a bill of materials and checksums in target/dist; fresh-dist tries them in fresh roots, as root'
	@echo 'make minimum bare deny semver publish lint-workflows   oldest Rust, no default features, dependencies, interface, packages'
	@echo 'make fuzz   fuzz every parser, SECONDS_EACH=150 seconds each'

DEMO_DIR := $(TARGET_DIR)/demo
# The name that programs look the library up by, which cargo does not make.
DEMO_LIB := $(DEMO_DIR)/libck_select.so.$(INSTALL_ABI)
DEMO_CXX := $(CXX) -std=c++17 -O2 -pthread -I include

# Needs cargo and a C++ compiler, nothing else. Compiled quickly, without optimisation and without the commands that are not
# shown: what runs fast is `make install`.
demo: needs-cargo needs-cxx
	@echo 'demo: compiling the library and ckselect, about a minute on two cores'
	@$(CARGO) build --profile demo --package ck-select --package ckselect --no-default-features --features ck-select/embedded-models
	@mkdir -p $(DEMO_DIR)
	@ln -sf libck_select.so $(DEMO_LIB)
	@echo 'demo: compiling cpp_examples/conv_get_solution.cpp'
	@$(DEMO_CXX) '$(CURDIR)/cpp_examples/conv_get_solution.cpp' -o $(DEMO_DIR)/conv_get_solution $(DEMO_LIB) -Wl,-rpath,$(DEMO_DIR)
	@echo
	@echo '$$ conv_get_solution'
	@$(DEMO_DIR)/conv_get_solution
	@echo
	@echo '$$ ckselect rank --model embedded:grouped_conv_forward_bf16_gfx950 --pool configs/forward_bf16.txt ...'
	@$(DEMO_DIR)/ckselect rank --model embedded:grouped_conv_forward_bf16_gfx950 --pool configs/forward_bf16.txt \
		--problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1' --top 3

# All programs of cpp_examples, into target/examples, with the library as it is installed.
EXAMPLES_DIR := $(TARGET_DIR)/examples
EXAMPLES_LIB := $(EXAMPLES_DIR)/libck_select.so.$(INSTALL_ABI)
examples: needs-cargo needs-cxx
	$(CARGO) build --release --package ck-select
	@mkdir -p $(EXAMPLES_DIR)
	@ln -sf $(TARGET_DIR)/release/libck_select.so $(EXAMPLES_LIB)
	@set -e; for source in '$(CURDIR)'/cpp_examples/*.cpp; do \
		program=$(EXAMPLES_DIR)/$$(basename "$$source" .cpp); \
		$(DEMO_CXX) "$$source" -o $$program $(EXAMPLES_LIB) -Wl,-rpath,$(EXAMPLES_DIR); echo $$program; \
	done
	@$(CC) -std=c11 -O2 -I include cpp_examples/c_minimal.c -o $(EXAMPLES_DIR)/c_minimal $(EXAMPLES_LIB) -Wl,-rpath,$(EXAMPLES_DIR)
	@echo $(EXAMPLES_DIR)/c_minimal

# All crates and tests with the same features, so that nothing is compiled twice.
TEST_CRATES := --workspace --exclude ck-select-loom --features ckselect/train
# Not with make's flags: cargo has jobs of its own, and tests run make, too.
TEST := $(LIGHTGBM_TEST_ENV) CK_SELECT_PYTHON="$(OFFLINE_PYTHON)" MAKEFLAGS= $(CARGO) test $(TEST_CRATES)
.PHONY: test-tools test-programs test-native test-rust
test-tools: system-tools offline-python python-tools

test-programs: needs-cargo needs-cxx lightgbm-tools
	@$(TEST) --no-run

# C and C++ programs: mostly their compilation.
test-native: test-programs
	@$(TEST) --test native

test-rust: test-programs offline-python
	@$(TEST) -- --skip native::

# Two kinds of tests at a time, since many wait for processes or use one processor; each prints what it has to say when it ends. The
# last has other features, and so another library of the same name.
test: needs-cargo needs-cxx needs-python needs-system-tools
	@echo 'test: 15 to 20 minutes on two cores the first time; see CONTRIBUTING.md'
	@# Tools wait for networks, compilers for processors.
	@$(MAKE) --no-print-directory -j5 test-programs test-tools
	@echo 'test: C, C++, Rust and Python, 7 to 9 minutes'
	@$(MAKE) --no-print-directory --output-sync=target -j2 test-native test-rust loom test-python
	@$(MAKE) --no-print-directory test-hip-link

# The command line with `ckselect train`, which needs LightGBM.
ckselect: needs-cargo needs-cxx lightgbm-tools
	$(LIGHTGBM_ENV) $(CARGO) build --release --package ckselect --features train

lint: needs-cargo needs-cxx needs-python lightgbm-tools
	$(CARGO) fmt --all --check
	$(LIGHTGBM_TEST_ENV) $(CARGO) clippy --workspace --all-targets --features ckselect/train -- -D warnings
	$(CARGO) clippy --package ckselect -- -D warnings
	$(CARGO) clippy --package ck-select --package ckselect --no-default-features -- -D warnings
	RUSTFLAGS='--cfg fuzzing -D warnings' $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir '$(TARGET_DIR)/fuzz'
	@$(MAKE) --no-print-directory docs-rust lint-python messages

# Every message of the product in one file, to be read in one go.
messages: needs-python
	@python3 -B packaging/messages.py '$(TARGET_DIR)/messages.txt'

# libFuzzer needs compiler flags that only nightly offers; RUSTC_BOOTSTRAP lends them to a stable compiler.
SECONDS_EACH ?= 150
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))

# Beside the real LightGBM, on the same inputs in the same run. JSON=FILE writes that table there, too; QUICK=1 only shows
# that everything runs. The library's own steps are counted by `make instructions`.
bench: needs-cargo needs-cxx lightgbm-tools
	$(LIGHTGBM_ENV) $(CARGO) bench --package ck-select-parity --bench compare -- $(if $(JSON),--json $(abspath $(JSON))) \
		$(if $(QUICK),--quick)

fuzz: needs-cargo needs-cxx
	@command -v cargo-fuzz >/dev/null || $(CARGO) install cargo-fuzz --locked --quiet
	@[ -d fuzz/corpus ] || tar -C fuzz -xJf fuzz/corpus.tar.xz
	@mkdir -p $(addprefix fuzz/corpus/,$(FUZZ_TARGETS))
	@LC_ALL=C awk '/^== /{close(out); out = "fuzz/corpus/" $$2; end = ""; printf "" >out; next} \
		out{printf "%s%s", end, $$0 >out; end = "\n"}' fuzz/seeds/texts
	@set -e; for target in $(FUZZ_TARGETS); do \
		case $$target in forest) more=tests/golden/forest;; pool) more=tests/golden/pools;; *) more=;; esac; \
		[ ! -d fuzz/seeds/$$target ] || more="$$more fuzz/seeds/$$target"; \
		RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run $$target fuzz/corpus/$$target $$more -- \
			-max_total_time=$(SECONDS_EACH) -rss_limit_mb=4096 -print_final_stats=1; \
	done

clean:
	$(CARGO) clean
