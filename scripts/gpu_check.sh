#!/usr/bin/env bash
# At most 8 minutes on a borrowed NVIDIA card: no network, no engine needed, no setting changed.
# Usage: scripts/gpu_check.sh OUT [KIT]; KIT is a folder that `weighbridge gpu kit KIT` made on another machine.
# vLLM is used where Python can import it (PYTHONPATH may name unpacked parts). `weighbridge gpu take OUT` stores
# the rows at home.
set -euo pipefail
cd "$(dirname "$0")/.."
exec timeout 480 "${PYTHON:-python3}" -m scripts.gpu_check "$@"
