# AMD's HIP runtime, for the feature hip-link: ROCm, or Debian's libamdhip64-dev, whose prefix is /usr. Without a GPU it finds no device, and
# that is what is tested then.

HIP_PATH ?= $(if $(wildcard /opt/rocm/include/hip/hip_runtime_api.h),/opt/rocm,/usr)
HIP_HEADER := $(HIP_PATH)/include/hip/hip_runtime_api.h

.PHONY: hip-tools test-hip-link

# After the other user of apt-get, which runs once at a time.
hip-tools: browser
	@if [ -f '$(HIP_HEADER)' ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		{ apt-get update --quiet && apt-get install --yes --quiet libamdhip64-dev; } || true; \
	fi

# Skipped with a message if HIP is missing and cannot be installed.
# With the features of all other tests, so that their dependencies are not compiled again. Cargo gives the library the same file with
# this feature and without, and believes the other one to be there afterwards.
HIP_KEPT := $(TARGET_DIR)/debug/deps/libck_select
test-hip-link: needs-cargo needs-cc lightgbm-tools hip-tools
	@if [ -f '$(HIP_HEADER)' ]; then \
		for file in $(HIP_KEPT).so $(HIP_KEPT).a; do if [ -f $$file ]; then cp -p $$file $$file.kept; fi; done; \
		status=0; \
		( $(LIGHTGBM_TEST_ENV) HIP_PATH='$(HIP_PATH)' $(CARGO) test $(TEST_CRATES),ck-select/hip-link --test hip -- link:: load:: ) \
			|| status=$$?; \
		for file in $(HIP_KEPT).so $(HIP_KEPT).a; do if [ -f $$file.kept ]; then mv $$file.kept $$file; fi; done; \
		exit $$status; \
	else \
		echo 'test-hip-link: SKIPPED, no HIP headers in $(HIP_PATH) (apt-get install libamdhip64-dev, or dnf install rocm-hip-devel; or set HIP_PATH)'; \
	fi
