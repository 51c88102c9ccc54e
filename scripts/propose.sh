#!/usr/bin/env bash
# Put changed data on a branch of their own and open a pull request. Needs git, gh and a token in GH_TOKEN.
set -euo pipefail
cd "$(dirname "$0")/.."

if git diff --quiet -- data && [ -z "$(git ls-files --others --exclude-standard data)" ]; then
    echo "The data have not changed: nothing to propose."
    exit 0
fi
branch=nightly-$(date -u +%Y%m%d-%H%M)
git config user.name weighbridge-nightly
git config user.email weighbridge-nightly@users.noreply.github.com
git switch --create "$branch"
git add data
git commit --quiet --message "Measurements of the night of $(date -u +%Y-%m-%d)"
gh auth setup-git
git push --quiet --set-upstream origin "$branch"
gh pr create --fill --head "$branch"
