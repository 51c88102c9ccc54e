"""scripts/venv.sh: idempotent by content, and clear about what to install where Python is too old."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.paths import REPOSITORY

# A Python whose pip only notes what it was asked for, beside the checkout that it belongs to.
STAND_IN = """#!/bin/sh
if [ "$1 $2" = "-m pip" ]; then shift 2; echo "$@" >> "$(dirname "$0")/../../pip.log"; exit 0; fi
exec {python} "$@"
"""
PINS = "pipeline/requirements/pipeline.txt"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the script reads, with a .venv that installs nothing."""
    for name in ("scripts/venv.sh", "pyproject.toml", PINS):
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / "clone" / name)
    (tmp_path / "clone/pipeline/requirements/dev.txt").write_text("more==1\n")
    programs = tmp_path / "clone/.venv/bin"
    programs.mkdir(parents=True)
    for name, text in {"python": STAND_IN.format(python=sys.executable), "weighbridge": ""}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return tmp_path / "clone"


def installs(checkout: Path, which: str) -> list[str]:
    """Run the script; what pip was asked to install."""
    log = checkout / "pip.log"
    log.unlink(missing_ok=True)
    subprocess.run([checkout / "scripts/venv.sh", which], check=True, capture_output=True)
    asked = log.read_text().splitlines() if log.exists() else []
    return [line.split()[-1] for line in asked if " install " in line]


def test_only_changed_pins_are_installed_again(checkout: Path) -> None:
    assert installs(checkout, "pipeline") == [PINS, "."]
    assert installs(checkout, "pipeline") == []
    (checkout / PINS).touch()
    assert installs(checkout, "pipeline") == [], "content counts, not time"
    (checkout / PINS).write_text("other==2\n")
    assert installs(checkout, "pipeline") == [PINS, "."]


def test_the_larger_set_serves_for_the_smaller(checkout: Path) -> None:
    assert installs(checkout, "dev") == ["pipeline/requirements/dev.txt", "."]
    assert installs(checkout, "pipeline") == []


def test_a_moved_checkout_is_installed_again(checkout: Path) -> None:
    assert installs(checkout, "pipeline") == [PINS, "."]
    assert installs(checkout.rename(checkout.with_name("moved")), "pipeline") == [PINS, "."]


def test_an_old_python_is_met_with_what_to_install(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    tools = checkout / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "cat", "grep"):
        (tools / name).symlink_to(str(shutil.which(name)))
    old = tools / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    command = [tools / "bash", checkout / "scripts/venv.sh"]
    ended = subprocess.run(command, env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert "needs Python 3.11 or newer" in ended.stderr
    assert "apt-get install python3.11" in ended.stderr
