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
