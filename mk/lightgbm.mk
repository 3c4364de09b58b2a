# What building the real LightGBM needs, for training and for the crate ck-select-parity: CMake of at least 3.28, which
# Debian 12 does not have, and libclang. Whatever runs cargo for that crate puts the tools first in its PATH:
#
#     lightgbm-tools: once, quick when all is there
#     parity:  lightgbm-tools
#         $(LIGHTGBM_ENV) cargo test -p ck-select-parity
#
# A fresh Debian refuses to install Python packages globally, hence the virtual environment.

LIGHTGBM_TOOLS := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..)/target/tools/venv
LIGHTGBM_ENV   := PATH="$(LIGHTGBM_TOOLS)/bin:$$PATH"
LIGHTGBM_CMAKE := cmake>=3.28,<5

.PHONY: lightgbm-tools
lightgbm-tools: $(LIGHTGBM_TOOLS)/.cmake lightgbm-libclang

# The stamp is written last, so that an interrupted installation is begun again.
$(LIGHTGBM_TOOLS)/.cmake:
	@command -v python3 >/dev/null || { \
		echo "lightgbm-tools: python3 with its venv module is needed (Debian: python3-venv)" >&2; exit 1; }
	python3 -m venv "$(LIGHTGBM_TOOLS)" || { \
		echo "lightgbm-tools: python3 cannot make a virtual environment (Debian: python3-venv)" >&2; exit 1; }
	"$(LIGHTGBM_TOOLS)/bin/pip" install --quiet --disable-pip-version-check '$(LIGHTGBM_CMAKE)'
	"$(LIGHTGBM_TOOLS)/bin/cmake" --version
	@touch "$@"

# bindgen looks for libclang where the linker or llvm-config finds it, and in LIBCLANG_PATH.
.PHONY: lightgbm-libclang
lightgbm-libclang:
	@if [ -n "$$LIBCLANG_PATH" ] || ldconfig -p 2>/dev/null | grep -q 'libclang[-.0-9]*\.so' \
		|| ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update --quiet && apt-get install --yes --quiet libclang-dev clang; \
	else \
		echo "lightgbm-tools: libclang is needed: apt-get install libclang-dev clang, or set LIBCLANG_PATH" >&2; \
		exit 1; \
	fi
