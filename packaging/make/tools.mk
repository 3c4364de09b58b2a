# What the targets need of the machine, and what they install under target/.

# A missing tool is one line that names its package, before a minute is spent:
#
#     target: needs-cargo needs-cxx ...

# $(call needs,test,what,Debian's package,Fedora's package)
needs = @$(1) >/dev/null 2>&1 || { \
	echo '$(firstword $(MAKECMDGOALS) make): no $(2): apt-get install $(3), or dnf install $(4)' >&2; exit 1; }
needs_rust = @command -v $(1) >/dev/null || { \
	echo '$(firstword $(MAKECMDGOALS) make): no $(1): install Rust from https://rustup.rs' >&2; exit 1; }

.PHONY: needs-cargo needs-rustup needs-cc needs-cxx needs-python needs-binutils needs-dpkg

needs-cargo:
	$(call needs_rust,$(firstword $(CARGO)))
needs-rustup: needs-cargo
	$(call needs_rust,rustup)
needs-cc:
	$(call needs,command -v $(firstword $(CC)),C compiler,gcc,gcc)
needs-cxx: needs-cc
	$(call needs,command -v $(firstword $(CXX)),C++ compiler,g++,gcc-c++)
# Debian's python3 is without what makes virtual environments.
needs-python:
	$(call needs,python3 -c 'import ensurepip; import venv',Python 3 with venv,python3-venv,python3)
needs-binutils:
	$(call needs,command -v strip,strip,binutils,binutils)
# Only Debian and its like know which of their packages a program needs.
needs-dpkg:
	$(call needs,! command -v apt-get || command -v dpkg-shlibdeps,dpkg-shlibdeps,dpkg-dev,dpkg-dev)

# $(call installed,FOLDER,PACKAGES): a virtual environment with packages. Its user touches a stamp last, so that an
# interrupted installation is begun again.
installed = python3 -m venv '$(1)' && '$(1)/bin/pip' install --quiet --disable-pip-version-check $(2)
comma := ,

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

.PHONY: lightgbm-tools
lightgbm-tools: $(LIGHTGBM_TOOLS)/.cmake $(LIGHTGBM_LIBCLANG)

# Not every platform has a wheel of libclang; the system's does as well.
$(LIGHTGBM_TOOLS)/.cmake: | needs-python
	$(call installed,$(LIGHTGBM_TOOLS),'cmake>=3.28$(comma)<5')
	"$(LIGHTGBM_TOOLS)/bin/pip" install --quiet --disable-pip-version-check libclang \
		|| echo 'lightgbm-tools: no wheel of libclang for this platform, looking for the system'"'"'s'
	"$(LIGHTGBM_TOOLS)/bin/cmake" --version
	@touch "$@"

$(LIGHTGBM_LIBCLANG): $(LIGHTGBM_TOOLS)/.cmake packaging/make/libclang.py
	@"$(LIGHTGBM_TOOLS)/bin/python" packaging/make/libclang.py > "$@.new" && mv "$@.new" "$@"

# The system's programs that tests run: their table is in the script. None of their tests is ever skipped.
.PHONY: needs-system-tools system-tools
needs-system-tools:
	@HIP_PATH='$(HIP_PATH)' packaging/make/system_tools.sh check
system-tools:
	@HIP_PATH='$(HIP_PATH)' packaging/make/system_tools.sh install
