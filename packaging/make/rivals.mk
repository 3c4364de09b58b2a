# libck_select_lgbm.so beside everything else that predicts with a LightGBM model: the same arrays, one thread each, bits compared.
#
#     make bench-rivals [FORESTS="800x15 500x127 2000x255"] [ROWS="1 30 546 4608"] [ONLY="lignum tl2cgen"] [DOCUMENT=docs/performance.md]
#
# Packages, trained forests and compiled trees are kept in target/rivals; the first run trains for a minute or two and compiles for several.

RIVALS := $(TARGET_DIR)/rivals
# One package each, so that one that cannot be installed takes no other with it; the table names what is missing.
RIVALS_PACKAGES := pylignum "lleaves llvmlite<0.44" "treelite tl2cgen" "onnxruntime onnxmltools skl2onnx" scikit-learn-intelex

.PHONY: bench-rivals
$(RIVALS)/venv/.ready: | needs-python
	$(call installed,$(RIVALS)/venv,'lightgbm==4.7.0' numpy scikit-learn)
	@for packages in $(RIVALS_PACKAGES); do \
		'$(RIVALS)/venv/bin/pip' install --quiet --disable-pip-version-check $$packages \
			|| echo "bench-rivals: cannot install $$packages"; \
	done
	@touch '$@'

bench-rivals: needs-cargo needs-cc $(RIVALS)/venv/.ready
	$(CARGO) build --release --quiet --package ck-select-lgbm
	'$(RIVALS)/venv/bin/python' crates/lgbm/benches/rivals.py --library '$(TARGET_DIR)/release/libck_select_lgbm.so' \
		--work '$(RIVALS)' $(if $(FORESTS),--forests $(FORESTS)) $(if $(ROWS),--rows $(ROWS)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(DOCUMENT),--document '$(abspath $(DOCUMENT))')
