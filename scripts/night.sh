#!/usr/bin/env bash
# One night for an owner without GitHub's runners: measure, check, promote or quarantine, build, and publish as
# WEIGHBRIDGE_PUBLISH says:
#   none (default)  leave data/ and site/ as they are now
#   push            commit data/ and push the branch
#   pull-request    put data/ on a branch and open a pull request (gh)
#   /a/folder       copy the site there, whole, beside the old one, then swap
# Any failure ends the script, and the last good site stays.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh pipeline
.venv/bin/weighbridge night "${1:-gpu-nightly}"

case "${WEIGHBRIDGE_PUBLISH:-none}" in
    none) ;;
    push)
        git add data
        git diff --cached --quiet || git commit --quiet --message "Measurements of the night of $(date -u +%Y-%m-%d)"
        git push --quiet
        ;;
    pull-request) scripts/propose.sh ;;
    /*)
        target=$WEIGHBRIDGE_PUBLISH
        rm -rf "$target.new" "$target.old"
        cp -r site "$target.new"
        [ ! -e "$target" ] || mv "$target" "$target.old"
        mv "$target.new" "$target"
        rm -rf "$target.old"
        ;;
    *)
        echo "WEIGHBRIDGE_PUBLISH is none, push, pull-request or an absolute folder" >&2
        exit 2
        ;;
esac
