"""Checks and a few vLLM cells on a borrowed card, with Python's own library, NVML and the CUDA driver alone.

Writes into one folder: `checks.jsonl` (one line a check), `cells.jsonl` (one line a cell: knobs, workload,
what was seen) and `card.json`. Every stage looks at the time that is left; one without enough is named.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import json
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

GIB = 2**30
LIMIT_S = 450.0
SIZES_GIB = (1, 4, 8)
COPY_GIB = 2
ROUNDS = 10
START_S = 150.0
PORT = 18555


class Memory(Protocol):
    """What the checks need of the CUDA driver."""

    def allocate(self, size: int) -> int:
        """Address of that many bytes on the card."""

    def free(self, address: int) -> None:
        """Give them back."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the card; returns when it is done."""


class Cuda:
    """The CUDA driver through ctypes, on the first card."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._do("cuInit", 0)
        self._do("cuDeviceGet", ctypes.byref(device), 0)
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._do("cuCtxSetCurrent", context)

    def allocate(self, size: int) -> int:
        """Address of that many bytes on the card."""
        address = ctypes.c_uint64()
        self._do("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        """Give them back."""
        self._do("cuMemFree_v2", ctypes.c_uint64(address))

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the card; returns when it is done."""
        places = (ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_size_t(size))
        self._do("cuMemcpyDtoD_v2", *places)
        self._do("cuCtxSynchronize")

    def _do(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise OSError(f"{name} gave {status}")


class Notes:
    """Where results go, and how much time is left."""

    def __init__(self, out: Path, limit_s: float = LIMIT_S) -> None:
        self._out, self._until = out, time.monotonic() + limit_s
        out.mkdir(parents=True, exist_ok=True)

    def left_s(self) -> float:
        """Seconds left."""
        return self._until - time.monotonic()

    def write(self, file: str, line: dict[str, Any]) -> None:
        """Add one line to a file, and show it."""
        with (self._out / file).open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        shown = {name: value for name, value in line.items() if not isinstance(value, (dict, list))}
        print(json.dumps(shown), flush=True)

    def stage(self, name: str, needs_s: float, work: Callable[[], None]) -> None:
        """One stage; a failure or too little time is a line, and the next stage goes on."""
        if self.left_s() < needs_s:
            self.write("checks.jsonl", {"check": name, "skipped": f"{self.left_s():.0f} s left"})
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a borrowed card: every stage is worth trying
            self.write("checks.jsonl", {"check": name, "failed": f"{type(error).__name__}: {error}"[:400]})


def check_sampler(cuda: Memory, used_gib: Callable[[], float], notes: Notes) -> None:
    """Memory as the sampler sees it, against allocations of known size."""
    for size in SIZES_GIB:
        before = used_gib()
        address = cuda.allocate(size * GIB)
        seen = used_gib() - before
        cuda.free(address)
        line = {"check": "sampler", "expected_gib": size, "seen_gib": round(seen, 4)}
        notes.write("checks.jsonl", line | {"freed_gib": round(before + seen - used_gib(), 4)})


def check_bandwidth(cuda: Memory, notes: Notes) -> None:
    """Copy bandwidth within the card: each byte is read and written."""
    size = COPY_GIB * GIB
    source, target = cuda.allocate(size), cuda.allocate(size)
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        cuda.copy(target, source, size)
        seconds.append(time.perf_counter() - began)
    cuda.free(source)
    cuda.free(target)
    best = 2 * size / min(seconds) / 1e9
    median = 2 * size / statistics.median(seconds) / 1e9
    notes.write("checks.jsonl", {"check": "copy bandwidth", "gb_s_best": best, "gb_s_median": median})


def check_matrix(notes: Notes) -> None:
    """Matrix ceiling in bfloat16, where torch is at hand."""
    if importlib.util.find_spec("torch") is None:
        notes.write("checks.jsonl", {"check": "matrix", "skipped": "no torch here"})
        return
    torch: Any = importlib.import_module("torch")
    size = 8192
    left, right = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    seconds = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        left @ right
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    notes.write("checks.jsonl", {"check": "matrix", "tflop_s_best": 2 * size**3 / min(seconds) / 1e12})


def check_watch(notes: Notes) -> None:
    """Rate and cost of the sampler itself on an idle card."""
    from pipeline.telemetry import nvml  # noqa: PLC0415 - only where NVML is
    from pipeline.telemetry.gpu import GpuWatch  # noqa: PLC0415

    with nvml.session():
        watch = GpuWatch([0], frozenset)
        start = watch.now()
        with watch:
            time.sleep(5)
        seen = watch.seen(start, start, watch.now(), watch.now(), None)
    line = {"check": "sampler cost", "hz": seen.sampler_hz, "share_of_a_core": seen.sampler_cpu_share}
    notes.write("checks.jsonl", line)


def serve_cells(kit: Path, notes: Notes) -> None:
    """Every server of the kit with its loads, as far as the time goes."""
    if importlib.util.find_spec("vllm") is None:
        notes.write("checks.jsonl", {"check": "vllm", "skipped": "Python cannot import vllm"})
        return
    plan = json.loads((kit / "kit.json").read_text())
    for number, server in enumerate(plan["servers"]):
        line = [part.replace("$KIT", str(kit.resolve())) for part in server["line"]]
        work = lambda number=number, line=line, server=server: _cells(number, line, server, notes)  # noqa: E731
        notes.stage(f"server {number}", START_S, work)


def _cells(number: int, line: Sequence[str], server: dict[str, Any], notes: Notes) -> None:
    from pipeline.telemetry import nvml  # noqa: PLC0415
    from pipeline.telemetry.gpu import GpuWatch  # noqa: PLC0415

    log = notes._out / f"server-{number}.log"  # noqa: SLF001
    with nvml.session(), running([sys.executable, *line], log) as process:
        wait_healthy(process, notes)
        version = json.loads(fetch("/version"))["version"]
        total = nvml.card(0).memory_gib
        for load in server["loads"]:
            watch = GpuWatch([0], frozenset)
            rest = watch.now()
            before = fetch("/metrics")
            began = datetime.now(UTC)
            with watch:
                requests = send(load)
            seen = watch.seen(rest, rest, watch.now(), watch.now(), total)
            line_out = {
                "experiment": load["experiment"],
                "engine": server["knobs"],
                "workload": load["workload"],
            }
            notes.write(
                "cells.jsonl",
                line_out
                | {"version": version, "started_at": began.isoformat(), "repeat": load["repeat"]}
                | {"requests": requests, "gpu": dataclasses.asdict(seen)}
                | {"metrics_before": before, "metrics_after": fetch("/metrics")},
            )


@contextmanager
def running(line: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server, stopped at the end whatever happens."""
    with log.open("wb") as output:
        process = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def wait_healthy(process: subprocess.Popen[bytes], notes: Notes) -> None:
    """Return when the server answers; it may take what is left of the time."""
    while notes.left_s() > 30:
        if process.poll() is not None:
            raise OSError("the server ended; see its log")
        with suppress(OSError):
            fetch("/health")
            return
        time.sleep(0.5)
    raise OSError("no time left for this server")


def fetch(path: str) -> str:
    """The text of one address of the server."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def send(load: dict[str, Any]) -> list[dict[str, Any]]:
    """All requests of a load, at most so many at once; each with its times in ms and its counts."""
    work = load["workload"]
    with ThreadPoolExecutor(max_workers=work["concurrency"]) as pool:
        return list(pool.map(lambda text: _one(text, work["output_tokens"]), load["prompts"]))


def _one(text: str, tokens: int) -> dict[str, Any]:
    body = {"model": "weighbridge", "prompt": text, "max_tokens": tokens, "min_tokens": tokens}
    body |= {"ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}}
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/v1/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    start, first = time.time_ns(), 0
    usage: dict[str, Any] = {}
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            for line in answer:
                if line.startswith(b"data: {"):
                    first = first or time.time_ns()
                    usage = json.loads(line[6:]).get("usage") or usage
    except OSError as error:
        return {"start_ns": start, "end_ns": time.time_ns(), "error": str(error)[:200]}
    return {"start_ns": start, "first_ns": first, "end_ns": time.time_ns(), "error": None, "usage": usage}


def main(arguments: Sequence[str]) -> None:
    """All stages."""
    notes = Notes(Path(arguments[0]))
    kit = Path(arguments[1]) if len(arguments) > 1 else None
    from pipeline.telemetry import nvml  # noqa: PLC0415

    (Path(arguments[0]) / "card.json").write_text(json.dumps([vars(card) for card in nvml.cards()]))

    def used_gib() -> float:
        with nvml.session():
            return float(nvml.read(nvml.handle_of(0), 0, None).card_gib or 0.0)

    notes.stage("sampler cost", 10, lambda: check_watch(notes))
    held: list[Cuda] = []
    notes.stage("cuda driver", 5, lambda: held.append(Cuda()))
    if held:
        notes.stage("sampler", 20, lambda: check_sampler(held[0], used_gib, notes))
        notes.stage("copy bandwidth", 20, lambda: check_bandwidth(held[0], notes))
        notes.stage("matrix", 30, lambda: check_matrix(notes))
    if kit:
        notes.stage("vllm", START_S, lambda: serve_cells(kit, notes))


if __name__ == "__main__":
    main(sys.argv[1:])
