# What building the real LightGBM needs, for training and for the crate ck-select-parity: CMake of at least 3.28, which
# Debian 12 does not have, and libclang. Both come as wheels into a virtual environment under target/, without root. Whatever
# runs cargo for that crate is given the tools first:
#
#     lightgbm-tools: once, quick when all is there
#     parity:  lightgbm-tools
#         $(LIGHTGBM_ENV) cargo test -p ck-select-parity

LIGHTGBM_TOOLS    := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)/target/tools/venv
# LIBCLANG_PATH and what else bindgen needs, written by packaging/make/libclang.py.
LIGHTGBM_LIBCLANG := $(LIGHTGBM_TOOLS)/libclang.env
LIGHTGBM_ENV      := set -a; . $(LIGHTGBM_LIBCLANG); PATH="$(LIGHTGBM_TOOLS)/bin:$$PATH";
# For tests: see there.
LIGHTGBM_TEST_ENV := $(LIGHTGBM_ENV) CMAKE_TOOLCHAIN_FILE=$(CURDIR)/packaging/make/lightgbm-tests.cmake
LIGHTGBM_CMAKE    := cmake>=3.28,<5

.PHONY: lightgbm-tools
lightgbm-tools: $(LIGHTGBM_TOOLS)/.cmake $(LIGHTGBM_LIBCLANG)

# The stamp is written last, so that an interrupted installation is begun again. Not every platform has a wheel of libclang; the
# system's does as well.
$(LIGHTGBM_TOOLS)/.cmake: | needs-python
	python3 -m venv "$(LIGHTGBM_TOOLS)"
	"$(LIGHTGBM_TOOLS)/bin/pip" install --quiet --disable-pip-version-check '$(LIGHTGBM_CMAKE)'
	"$(LIGHTGBM_TOOLS)/bin/pip" install --quiet --disable-pip-version-check libclang \
		|| echo 'lightgbm-tools: no wheel of libclang for this platform, looking for the system'"'"'s'
	"$(LIGHTGBM_TOOLS)/bin/cmake" --version
	@touch "$@"

$(LIGHTGBM_LIBCLANG): $(LIGHTGBM_TOOLS)/.cmake packaging/make/libclang.py
	@"$(LIGHTGBM_TOOLS)/bin/python" packaging/make/libclang.py > "$@.new" && mv "$@.new" "$@"
