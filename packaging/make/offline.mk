# The offline tools beside scripts of pandas and LightGBM:
#
#     make bench-offline [CASES="convert features matrix evaluate"] [ROWS=1000000] [ROUNDS=3] [JSON=FILE]
#     make bench-offline-large [ROWS=20000000]     peak memory of a conversion larger than the memory should be
#
# They need a Python with pandas, pyarrow and lightgbm: CK_SELECT_PYTHON names one, else a virtual environment is made. The tests of
# crates/data/tests take the same variable.

OFFLINE_VENV   := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)/target/tools/pandas
OFFLINE_PYTHON := $(or $(CK_SELECT_PYTHON),$(OFFLINE_VENV)/bin/python)

.PHONY: offline-python bench-offline bench-offline-large
offline-python: $(if $(CK_SELECT_PYTHON),,$(OFFLINE_VENV)/.ready)

# The stamp is written last, so that an interrupted installation is begun again.
$(OFFLINE_VENV)/.ready: | needs-python
	python3 -m venv "$(OFFLINE_VENV)"
	"$(OFFLINE_VENV)/bin/pip" install --quiet --disable-pip-version-check \
		'pandas>=2,<4' 'pyarrow>=15' 'lightgbm==4.7.0'
	@touch "$@"

bench-offline: needs-cargo needs-cc offline-python
	$(CARGO) build --release --quiet --package ckselect
	$(CARGO) build --release --quiet --package ck-select-data --example feature_rows
	"$(OFFLINE_PYTHON)" crates/study/benches/compare.py --ckselect "$(TARGET_DIR)/release/ckselect" \
		$(if $(ROWS),--rows $(ROWS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(JSON),--json $(abspath $(JSON))) $(CASES)

bench-offline-large: needs-cargo needs-cc offline-python
	$(CARGO) build --release --quiet --package ckselect
	"$(OFFLINE_PYTHON)" crates/study/benches/large.py --ckselect "$(TARGET_DIR)/release/ckselect" $(if $(ROWS),--rows $(ROWS))
