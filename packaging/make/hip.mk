# AMD's HIP runtime, for the feature hip-link: ROCm, or Debian's libamdhip64-dev, whose prefix is /usr. Without a GPU it finds no device, and
# that is what is tested then.

HIP_PATH ?= $(if $(wildcard /opt/rocm/include/hip/hip_runtime_api.h),/opt/rocm,/usr)

.PHONY: test-hip-link

# With the features of all other tests, so that their dependencies are not compiled again. Cargo gives the library the same file with
# this feature and without, and believes the other one to be there afterwards.
HIP_KEPT := $(TARGET_DIR)/debug/deps/libck_select
test-hip-link: needs-cargo needs-cc lightgbm-tools system-tools
	@for file in $(HIP_KEPT).so $(HIP_KEPT).a; do if [ -f $$file ]; then cp -p $$file $$file.kept; fi; done; \
	status=0; \
	( $(LIGHTGBM_TEST_ENV) HIP_PATH='$(HIP_PATH)' $(CARGO) test $(TEST_CRATES),ck-select/hip-link --test hip -- link:: load:: ) \
		|| status=$$?; \
	for file in $(HIP_KEPT).so $(HIP_KEPT).a; do if [ -f $$file.kept ]; then mv $$file.kept $$file; fi; done; \
	exit $$status
