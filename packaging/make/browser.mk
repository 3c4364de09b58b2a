# A headless Chromium, in which a test opens the report of `ckselect evaluate`. Where it cannot be installed the test says
# so and passes over it.

.PHONY: browser
browser:
	@for name in chromium-headless-shell chromium google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends chromium-headless-shell || true; \
	else \
		echo "browser: no headless Chromium (apt-get install chromium-headless-shell, or dnf install chromium-headless): the report's test will be passed over" >&2; \
	fi
