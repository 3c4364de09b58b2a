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

# Records in the specs and cards of models/ what they were trained on. The measurements of the gfx950 model are not in the repository:
#
#     make trained-on [MI355X=FOLDER]
#
.PHONY: trained-on
trained-on:
	$(CARGO) build --quiet --package ck-select-data --example trained_on
	for direction in forward bwd_data bwd_weight; do \
		"$(TARGET_DIR)/debug/examples/trained_on" "models/grouped_conv_$${direction}_bf16_sm90" "data/h200/$$direction.parquet" \
			data/h200/$$direction.drawn[789].parquet "data/h200/$$direction.odd10.parquet" || exit 1; \
	done
	$(if $(MI355X),"$(TARGET_DIR)/debug/examples/trained_on" models/grouped_conv_forward_bf16_gfx950 \
		"$(MI355X)/forward_bf16_oracle_dev.csv" "$(MI355X)/forward_bf16_training_20k.csv")
