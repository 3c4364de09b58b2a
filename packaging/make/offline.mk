# A Python with pandas, pyarrow and lightgbm, for the tests of crates/data/tests and `make efficiency`: CK_SELECT_PYTHON
# names one, else a virtual environment is made.

OFFLINE_VENV   := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)/target/tools/pandas
OFFLINE_PYTHON := $(or $(CK_SELECT_PYTHON),$(OFFLINE_VENV)/bin/python)

.PHONY: offline-python
offline-python: $(if $(CK_SELECT_PYTHON),,$(OFFLINE_VENV)/.ready)

# The stamp is written last, so that an interrupted installation is begun again.
$(OFFLINE_VENV)/.ready: | needs-python
	python3 -m venv "$(OFFLINE_VENV)"
	"$(OFFLINE_VENV)/bin/pip" install --quiet --disable-pip-version-check \
		'pandas>=2,<4' 'pyarrow>=15' 'lightgbm==4.7.0'
	@touch "$@"
