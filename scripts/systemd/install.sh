#!/usr/bin/env bash
# Install the timer for this user and this checkout. To stop: systemctl --user disable --now weighbridge-night.timer
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
mkdir -p "$units"
sed "s|@CHECKOUT@|$checkout|g" "$here/weighbridge-night.service" >"$units/weighbridge-night.service"
cp "$here/weighbridge-night.timer" "$units/"
if [ "${1:-}" != --files-only ]; then
    systemctl --user daemon-reload
    systemctl --user enable --now weighbridge-night.timer
    systemctl --user list-timers weighbridge-night.timer
fi
