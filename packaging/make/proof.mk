# What shows on a GPU, and on recorded measurements, that choices are as good as the documents say:
#
#     make prove-amd [CK=DIR] [OUT=proof]   on an AMD GPU, in half an hour: gpu/prove, one page of results
#     make prove-gpu                        the same for a GPU of any vendor
#
# CKSELECT=FILE names a command line; else it is that of this checkout, which is built where Rust is, or that of PATH.

.PHONY: prove-amd prove-gpu prove-build

PROVE_OUT   = $(or $(OUT),proof)
# What the caller says; install.mk has a value of its own.
PROVE_GIVEN = $(if $(filter file,$(origin CKSELECT)),,$(CKSELECT))
prove-amd: PROVE_VENDOR := amd
prove-gpu: PROVE_VENDOR := any
prove-amd prove-gpu: $(if $(PROVE_GIVEN),,prove-build)
	@CKSELECT='$(PROVE_GIVEN)' python3 -B gpu/prove/prove.py --vendor $(PROVE_VENDOR) --out '$(PROVE_OUT)' \
		$(if $(CK),--ck '$(CK)') $(if $(MINUTES),--minutes '$(MINUTES)')

# Nothing without Rust: then PATH has a ckselect, or gpu/prove says where to get one.
prove-build:
	@! command -v $(firstword $(CARGO)) >/dev/null || { $(MAKE) --no-print-directory ckselect \
		&& $(CARGO) build --release --quiet --package ck-select --lib; }

# Figures of the documents from recorded measurements, and models from their cards; packaging/results has the list.
#
#     make results [DATA=DIR] [ONLY=WORDS]   makes each again and compares; WRITE=1 writes what differs
#     make model MODEL=NAME [DATA=DIR]       trains a shipped model again and compares its trees, spec and sureness
.PHONY: results model
RESULTS_ENV = DATA='$(DATA)' CKSELECT='$(PROVE_GIVEN)'
results: needs-python $(if $(PROVE_GIVEN),,ckselect)
	@$(RESULTS_ENV) python3 -B packaging/results/results.py $(if $(ONLY),--only '$(ONLY)') $(if $(WRITE),--write)

model: needs-python $(if $(PROVE_GIVEN),,ckselect)
	@$(RESULTS_ENV) python3 -B packaging/results/models.py '$(MODEL)'
