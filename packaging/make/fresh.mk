# The two commands of a fresh machine, on a fresh machine: a minimal Debian with only what the README names, and a clock.
#
#     make fresh [WHAT="demo demo-root test"]
#
.PHONY: fresh
fresh:
	packaging/fresh.sh $(WHAT)
