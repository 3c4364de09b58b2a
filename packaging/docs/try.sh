#!/usr/bin/env bash
# Searches a built site in a headless browser, from the file system and without a network, as a reader would: try.sh SITE
set -euo pipefail
site=$(cd "$1" && pwd)
for name in chromium-headless-shell chromium google-chrome; do
    browser=$(command -v $name) && break
done
if [ -z "${browser:-}" ]; then
    echo 'docs: the search was not tried, no headless Chromium: apt-get install chromium-headless-shell, or dnf install chromium-headless' >&2
    exit
fi
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
# WORDS PAGE: a search for these words has to lead to that page.
look_for() {
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$profile" --virtual-time-budget=5000 --dump-dom \
        "file://$site/docs/performance.html?q=$1" 2>/dev/null >"$profile/dom"
    if ! grep -qF "<a href=\"../$2\" role=\"option\">" "$profile/dom"; then
        echo "docs: a search for \"$1\" does not find $2" >&2
        exit 1
    fi
}
look_for ck_registry_tune 'api/c.html#ck_registry_tune'
look_for 'what%20had%20been%20looked%20at' 'docs/results.html#what-had-been-looked-at'
look_for 'Predictor' 'api/python.html#predictor'
look_for GroupedConvRunner 'api/cpp-dispatcher.html#groupedconvrunner'
