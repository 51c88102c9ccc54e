#!/usr/bin/env bash
# See that browser tests have a Chromium: the system's, else Debian's, else Playwright's own. Never fails a test run:
# without one those tests are skipped, and named at the end.
set -uo pipefail
cd "$(dirname "$0")/.."

have_browser() {
    .venv/bin/python -c 'import sys; from pipeline.environments.machine import browser; sys.exit(browser() is None)'
}

# Root, or sudo that asks no password.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_from_debian() {
    command -v apt-get >/dev/null && as_root true 2>/dev/null || return 1
    echo "Installing Chromium for the browser tests ..."
    (as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y chromium) >/dev/null 2>&1
}

install_from_playwright() {
    echo "Fetching Playwright's Chromium for the browser tests ..."
    .venv/bin/python -m playwright install chromium >/dev/null 2>&1
}

have_browser && exit 0
install_from_debian && have_browser && exit 0
install_from_playwright && have_browser && exit 0
echo "No Chromium could be installed: browser tests will be skipped."
