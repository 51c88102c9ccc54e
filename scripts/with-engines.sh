#!/usr/bin/env bash
# Set up the engines' environments, then run a command; where they cannot be installed, say so and leave it out.
set -euo pipefail
cd "$(dirname "$0")/.."
cannot_be_installed=3

code=0
.venv/bin/weighbridge env setup || code=$?
if [ "$code" = "$cannot_be_installed" ]; then
    echo "Going on without measuring on this machine: committed data speak alone."
    exit 0
fi
[ "$code" = 0 ] || exit "$code"
exec "$@"
