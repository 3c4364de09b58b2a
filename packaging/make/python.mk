# The Python package in python/: tests, lints and the comparison with LightGBM and pandas, in a virtual environment under
# target/. A fresh Debian refuses to install Python packages globally.

PYTHON_ENV     := $(TARGET_DIR)/python/venv
PYTHON_TOOLS   := $(PYTHON_ENV)/.tools
PYTHON_WHEELS  := $(TARGET_DIR)/python/wheels
# What tests run with and the wheel holds: what the Rust tests run with, too. `make python-wheel PYTHON_PROFILE=release` makes one
# to give away, `make bench-python` takes the optimised library.
PYTHON_PROFILE := dev
bench-python:    PYTHON_PROFILE := release
PYTHON_BUILT    = $(TARGET_DIR)/$(subst dev,debug,$(PYTHON_PROFILE))
# Of a library that is built for tests, cargo leaves the file where it puts dependencies.
PYTHON_LIBRARY  = $(PYTHON_BUILT)/$(if $(filter dev,$(PYTHON_PROFILE)),deps/)libck_select.so
# How python/ runs from the sources: the package as it lies there, with the library that cargo has just built.
PYTHON_RUN      = cd python && PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 CK_SELECT_LIBRARY='$(PYTHON_LIBRARY)' \
	CK_SELECT_COMMAND='$(PYTHON_BUILT)/ckselect' '$(PYTHON_ENV)/bin/python'

.PHONY: asan python-tools test-python lint-python bench-python python-library python-wheel inductor

test-python: needs-cargo needs-cxx needs-python $(PYTHON_TOOLS) python-wheel
	$(PYTHON_RUN) -m pytest -q -p no:cacheprovider
	'$(PYTHON_ENV)/bin/python' python/tests/try_wheel.py '$(PYTHON_WHEELS)' '$(TARGET_DIR)/python'

lint-python: needs-python $(PYTHON_TOOLS)
	cd python && for what in check 'format --check'; do \
		'$(PYTHON_ENV)/bin/ruff' $$what --no-cache --config pyproject.toml . ../gpu/triton ../gpu/inductor ../gpu/prove ../packaging/results ../packaging/docs || exit 1; done
	cd python && '$(PYTHON_ENV)/bin/mypy' --cache-dir '$(TARGET_DIR)/python/mypy'

# Beside LightGBM and pandas, on the same inputs in the same run; JSON=FILE writes the table there, too.
bench-python: needs-cargo needs-cc needs-python $(PYTHON_TOOLS)
	$(CARGO) build --release --quiet --package ck-select --lib
	$(PYTHON_RUN) benches/compare.py $(if $(JSON),--json '$(abspath $(JSON))')
	$(PYTHON_RUN) benches/triton_order.py

# ck_select.inductor with several releases of torch, each in a virtual environment of its own: 3 GB to download and 6 GB on disk each,
# because PyPI has no smaller ones; PIP_INDEX_URL may name an index with builds for the CPU. No GPU is needed. The kernel of mixtures
# of experts is interpreted there; of numpy 2.4 the interpreter of Triton 3.6 makes no loops.
TORCHES      := 2.11.0 2.13.0 2.14.1 2.15.0
INDUCTOR_ENV := $(TARGET_DIR)/inductor
inductor: PYTHON_PROFILE := release
inductor: needs-cargo needs-python python-library $(TORCHES:%=inductor-%)

$(TORCHES:%=inductor-%): inductor-%: $(INDUCTOR_ENV)/%/.ready python-library
	cd python && PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 CK_SELECT_LIBRARY='$(PYTHON_LIBRARY)' \
		'$(INDUCTOR_ENV)/$*/bin/python' -m pytest -q -p no:cacheprovider tests_inductor

$(INDUCTOR_ENV)/%/.ready: | needs-python
	$(call installed,$(INDUCTOR_ENV)/$*,torch==$* pytest 'numpy<2.4')
	@touch '$@'

# The C boundary as Python uses it, under AddressSanitizer, whose runtime is loaded first: Python has none. Each object gets memory of its
# own. First a column that is shorter than its table, on purpose, so that nobody takes silence for proof.
ASAN_HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
asan: needs-cargo needs-cc needs-python $(PYTHON_TOOLS)
	RUSTC_BOOTSTRAP=1 RUSTFLAGS='$(RUSTFLAGS) -Zsanitizer=address' $(CARGO) build --target $(ASAN_HOST) \
		--target-dir '$(TARGET_DIR)/asan' --package ck-select --lib
	@set -e; cd python; run() { PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc \
		CK_SELECT_LIBRARY='$(TARGET_DIR)/asan/$(ASAN_HOST)/debug/libck_select.so' \
		ASAN_OPTIONS=detect_leaks=0,alloc_dealloc_mismatch=0 LD_PRELOAD="$$($(CC) -print-file-name=libasan.so)" \
		'$(PYTHON_ENV)/bin/python' "$$@"; }; \
	run tests/overread.py 2>&1 | grep 'heap-buffer-overflow'; \
	run -m pytest -q -p no:cacheprovider tests/test_memory.py tests/test_tables.py tests/test_cells.py tests/test_pools.py

# In the recipe, since prerequisites are read before a target has its own profile: tests of torch built all programs of the Rust tests.
python-library:
	@$(if $(filter dev,$(PYTHON_PROFILE)),$(MAKE) --no-print-directory test-programs,$(CARGO) build --profile $(PYTHON_PROFILE) \
		--quiet --package ck-select --lib --package ckselect --bin ckselect)

python-wheel: needs-python $(PYTHON_TOOLS) python-library
	rm -rf '$(PYTHON_WHEELS)'
	CK_SELECT_LIBRARY='$(PYTHON_LIBRARY)' CK_SELECT_COMMAND='$(PYTHON_BUILT)/ckselect' '$(PYTHON_ENV)/bin/pip' wheel --quiet \
		--disable-pip-version-check --no-deps --no-build-isolation --wheel-dir '$(PYTHON_WHEELS)' ./python

python-tools: $(PYTHON_TOOLS)

$(PYTHON_TOOLS): python/tests/requirements.txt
	$(call installed,$(PYTHON_ENV),-r python/tests/requirements.txt)
	@touch '$@'

# A Python with pandas, pyarrow and lightgbm, for the tests of crates/measurements/tests and `make efficiency`: CK_SELECT_PYTHON
# names one, else a virtual environment is made.

OFFLINE_VENV   := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)/target/tools/pandas
OFFLINE_PYTHON := $(or $(CK_SELECT_PYTHON),$(OFFLINE_VENV)/bin/python)

.PHONY: offline-python
offline-python: $(if $(CK_SELECT_PYTHON),,$(OFFLINE_VENV)/.ready)

$(OFFLINE_VENV)/.ready: | needs-python
	$(call installed,$(OFFLINE_VENV),'pandas>=2$(comma)<4' 'pyarrow>=15' 'lightgbm==4.7.0')
	@touch "$@"
