#!/usr/bin/env bash
# Make or refresh .venv. Usage: venv.sh pipeline|dev   (dev holds everything that pipeline does)
# The stamp holds the hash of what was asked for, so a second call does nothing and an interrupted one resumes.
set -euo pipefail
cd "$(dirname "$0")/.."
set_name=${1:-pipeline}
pins=pipeline/requirements
stamp=.venv/.weighbridge-set

find_python() {
    local name
    for name in ${PYTHON:-} python3 python3.11 python3.12 python3.13 python3.14; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "Weighbridge needs Python 3.11 or newer, and none of python3, python3.11 .. python3.14 is one." >&2
    echo "  next:  install it (Debian, Ubuntu: apt-get install python3.11 python3.11-venv), or name one: make PYTHON=/path/to/python3.12 ..." >&2
    exit 3
}

# The place belongs to it: scripts in a virtual environment carry absolute paths.
wanted() {
    .venv/bin/python - "$1" pyproject.toml "$pins/$1.txt" <<'PYTHON'
import hashlib, os, pathlib, sys
parts = [os.getcwd(), *(pathlib.Path(name).read_text() for name in sys.argv[2:])]
print(sys.argv[1], hashlib.sha256("".join(parts).encode()).hexdigest())
PYTHON
}

# The larger set satisfies a call for the smaller one.
is_ready() {
    [ -x .venv/bin/weighbridge ] && .venv/bin/python -c '' 2>/dev/null || return 1
    local have
    have=$(cat "$stamp" 2>/dev/null || true)
    [ "$have" = "$(wanted "$set_name")" ] || [ "$have" = "$(wanted dev)" ]
}

make_venv() {
    .venv/bin/python -m pip --version >/dev/null 2>&1 && return
    local python
    python=$(find_python)
    if ! "$python" -m venv --clear .venv 2>/dev/null; then
        echo "$python cannot make a virtual environment (Debian and Ubuntu keep that part in python3-venv)." >&2
        echo "  next:  apt-get install python3-venv, then the same command again" >&2
        exit 3
    fi
}

quietly() {
    local log=.venv/pip.log
    if ! .venv/bin/python -m pip --disable-pip-version-check install -qq --no-compile --no-deps "$@" >"$log" 2>&1; then
        echo "Packages could not be installed; the last lines that pip wrote:" >&2
        tail -n 15 "$log" >&2
        echo "  next:  check the network or the package registry, then the same command again; it resumes" >&2
        exit 3
    fi
}

is_ready && exit 0
started=$SECONDS
echo "Setting up .venv: $(grep -c '==' "$pins/$set_name.txt") packages, about a minute ..."
make_venv
quietly --require-hashes -r "$pins/$set_name.txt"
quietly --no-build-isolation -e .
wanted "$set_name" >"$stamp"
echo ".venv is ready ($((SECONDS - started)) s)"
