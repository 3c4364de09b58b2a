# The documents as a site, and the figure of README:
#
#     make docs [RUSTDOC=FOLDER]       target/site/index.html; RUSTDOC takes what `cargo doc` wrote there before
#     make figures                     draws docs/images/efficiency.svg again from committed results
#     make efficiency MI355X=FOLDER    its results, and the table of `tune`, from measurements that are not in the repository
#
# packaging/docs has the scripts. Everything is checked: that the figure is what its data give, that each link leads somewhere, also to an
# anchor, that each page is in docs/README.md, and, where there is a headless Chromium, that the search finds something, that no page
# scrolls sideways on a phone, and that the first page's live example has the command's figures.

DOCS_ENV   := $(TARGET_DIR)/docs/venv
DOCS_READY := $(DOCS_ENV)/.ready
DOCS_SITE  := $(TARGET_DIR)/site
DOCS_RUST   = $(or $(RUSTDOC),$(TARGET_DIR)/doc)
# A build of the command line that is not older than its sources: its help becomes a page, and the first page shows README's first example as it
# runs.
DOCS_BUILT  = $(firstword $(wildcard $(TARGET_DIR)/debug/ckselect $(TARGET_DIR)/release/ckselect))
DOCS_HELP   = $(if $(DOCS_BUILT),$(if $(shell find crates/cli/src -newer '$(DOCS_BUILT)' -print -quit),,$(DOCS_BUILT)))
# The crates whose Rust documentation is for users. packaging/docs/api.py lists the same.
DOCS_CRATES := ck-select ck-select-types ck-select-model ck-select-enumerate
# The live example, where the Rust library for WebAssembly is or can be installed.
DOCS_WASM_TARGET := wasm32-unknown-unknown
DOCS_WASM  := $(TARGET_DIR)/$(DOCS_WASM_TARGET)/browser/ck_select_demo.wasm
DOCS_HAS_WASM = [ -d "$$(rustc --print target-libdir --target $(DOCS_WASM_TARGET))" ]
EFFICIENCY := $(TARGET_DIR)/docs/efficiency

.PHONY: docs docs-rust docs-wasm figures efficiency

docs: needs-python $(DOCS_READY) docs-wasm $(if $(RUSTDOC),,docs-rust)
	@python3 -B packaging/docs/figures.py --check
	@$(if $(DOCS_HELP),,echo 'docs: without the page of the command line and the recorded example, which need a new build: cargo build -p ckselect')
	@'$(DOCS_ENV)/bin/python' -B packaging/docs/build.py --out '$(DOCS_SITE)' --rustdoc '$(DOCS_RUST)' \
		$(if $(DOCS_HELP),--ckselect '$(DOCS_HELP)') $$([ ! -f '$(DOCS_WASM)' ] || echo --wasm '$(DOCS_WASM)')
	@python3 -B packaging/docs/try.py '$(DOCS_SITE)' $(DOCS_HELP)

docs-rust: needs-cargo
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --no-deps --quiet $(addprefix --package ,$(DOCS_CRATES))

# Flags of this machine's linker are none of WebAssembly's.
docs-wasm: needs-cargo
	@rm -f '$(DOCS_WASM)'; $(DOCS_HAS_WASM) || rustup target add $(DOCS_WASM_TARGET) >/dev/null 2>&1 || { \
		echo 'docs: without the live example: rustup target add $(DOCS_WASM_TARGET)'; exit 0; }; \
	RUSTFLAGS= $(CARGO) build --quiet --profile browser --target $(DOCS_WASM_TARGET) --package ck-select-demo

figures: needs-python
	python3 -B packaging/docs/figures.py

efficiency: ckselect offline-python
	@[ -n '$(MI355X)' ] || { echo 'efficiency: say where the measurements are: MI355X=FOLDER' >&2; exit 1; }
	rm -rf '$(EFFICIENCY)' && mkdir -p '$(EFFICIENCY)'
	'$(TARGET_DIR)/release/ckselect' train --data '$(MI355X)/forward_bf16_oracle_dev.csv' --extra-data '$(MI355X)/forward_bf16_training_20k.csv' \
		--output '$(EFFICIENCY)/model' --where op=grouped_conv,direction=forward,dtype=bf16 --arch gfx950
	'$(TARGET_DIR)/release/ckselect' evaluate --model estimate --arch gfx950 --data '$(MI355X)/forward_bf16_oracle_dev.csv' --output '$(EFFICIENCY)/estimate.csv'
	'$(TARGET_DIR)/release/ckselect' train --universal --data $(sort $(filter-out %.cold.parquet,$(wildcard data/h200/*.parquet))) \
		--output '$(EFFICIENCY)/h200' --folds 1
	'$(TARGET_DIR)/release/ckselect' evaluate --model '$(EFFICIENCY)/h200' --arch gfx950 --data '$(MI355X)/forward_bf16_oracle_dev.csv' \
		--output '$(EFFICIENCY)/universal.csv'
	'$(TARGET_DIR)/release/ckselect' evaluate --model '$(MI355X)/upstream_picks_dev.csv' --data '$(MI355X)/forward_bf16_oracle_dev.csv' \
		--output '$(EFFICIENCY)/upstream.csv'
	'$(OFFLINE_PYTHON)' -B packaging/docs/efficiency.py '$(EFFICIENCY)/model/oof_predictions.parquet' '$(EFFICIENCY)/estimate.csv' \
		'$(EFFICIENCY)/universal.csv' '$(EFFICIENCY)/upstream.csv' >'$(EFFICIENCY)/efficiency.csv'
	cp '$(EFFICIENCY)/efficiency.csv' docs/images/

$(DOCS_READY): packaging/docs/requirements.txt | needs-python
	$(call installed,$(DOCS_ENV),-r packaging/docs/requirements.txt)
	@touch '$@'
