"""Medians of sweeps, the effect of concurrency within one configuration, and what an objective allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from statistics import median
from typing import Any

from pipeline.lanes.published.measured import Measured
from pipeline.schemas.published import PublishedBatch, PublishedCapacity, PublishedSweep

# (TTFT, TPOT) in ms: a reader in a hurry, one at ease.
OBJECTIVES = ((500.0, 30.0), (2_000.0, 50.0))


def band_of(concurrency: int) -> str:
    """Name of the band of requests in flight."""
    return "1-8" if concurrency <= 8 else "9-64" if concurrency <= 64 else "65 and more"


def sweeps(kept: Iterable[Measured]) -> list[PublishedSweep]:
    """Medians over parallelism and concurrency within a band; saturated rows are left out."""
    groups = _grouped(
        (one for one in kept if one.concurrency and not one.saturated),
        lambda one: (*_setting(one), band_of(one.concurrency or 1)),
    )
    return [_sweep(key, group) for key, group in groups]


def batch_effects(kept: Iterable[Measured]) -> list[PublishedBatch]:
    """Each configuration at every concurrency over its own lowest."""
    groups = _grouped(
        (one for one in kept if one.concurrency),
        lambda one: (*_setting(one), *one.setting[5:9], one.measured_on, one.version),
    )
    return [row for _, group in groups for row in _over_lowest(group)]


def capacities(kept: Iterable[Measured]) -> list[PublishedCapacity]:
    """The most requests a second and GPU within each objective, by engine, model, GPU, precision, lengths."""
    groups = _grouped((one for one in kept if one.concurrency), _setting)
    return [_capacity(key, group, limits) for key, group in groups for limits in OBJECTIVES]


def _setting(one: Measured) -> tuple[Any, ...]:
    row = one.row
    return one.engine, one.model, one.gpu, row.precision, row.isl, row.osl


def _grouped(rows: Iterable[Measured], key: Any) -> list[tuple[tuple[Any, ...], list[Measured]]]:
    groups: defaultdict[tuple[Any, ...], list[Measured]] = defaultdict(list)
    for one in rows:
        groups[key(one)].append(one)
    return sorted(groups.items(), key=lambda item: str(item[0]))


def _named(key: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("engine", "model", "gpu", "precision", "isl", "osl"), key[:6], strict=True))


def _sweep(key: tuple[Any, ...], group: list[Measured]) -> PublishedSweep:
    days = [one.measured_on for one in group if one.measured_on]
    versions = sorted({one.version for one in group if one.version})
    rates = [one.tok_s_per_gpu for one in group if one.tok_s_per_gpu is not None]
    return PublishedSweep(
        **_named(key),
        concurrency_band=key[6],
        n_rows=len(group),
        ttft_median_ms=median(one.row.silicon_ttft_ms for one in group),
        tpot_median_ms=median(one.row.silicon_tpot_ms for one in group),
        tok_s_per_gpu_median=median(rates) if rates else None,
        tok_s_per_gpu_best=max(rates, default=None),
        measured_from=min(days, default=None),
        measured_to=max(days, default=None),
        versions=", ".join(versions) or None,
    )


def _over_lowest(group: list[Measured]) -> Iterator[PublishedBatch]:
    by_load = {one.concurrency or 0: one for one in group}
    base = by_load[min(by_load)]
    for concurrency, one in sorted(by_load.items()):
        if one is base:
            continue
        row = one.row
        yield PublishedBatch(
            **_named(_setting(one)),
            sweep=f"{one.engine} {one.model} {row.precision or 'precision not recorded'} {one.gpu}",
            tp=one.tp,
            moe_ep=one.moe_ep,
            base_concurrency=base.concurrency or 0,
            concurrency=concurrency,
            tpot_ratio=row.silicon_tpot_ms / base.row.silicon_tpot_ms,
            ttft_ratio=row.silicon_ttft_ms / base.row.silicon_ttft_ms,
            tok_s_per_gpu_ratio=(one.tok_s_per_gpu or 0.0) / (base.tok_s_per_gpu or 1.0),
            saturated=one.saturated,
            measured_on=one.measured_on,
            version=one.version,
        )


def _capacity(key: tuple[Any, ...], group: list[Measured], limits: tuple[float, float]) -> PublishedCapacity:
    met = [
        one for one in group if one.row.silicon_ttft_ms <= limits[0] and one.row.silicon_tpot_ms <= limits[1]
    ]
    best = max(met, key=lambda one: one.tok_s_per_gpu or 0.0, default=None)
    return PublishedCapacity(
        **_named(key),
        ttft_limit_ms=limits[0],
        tpot_limit_ms=limits[1],
        req_s_per_gpu=(best.tok_s_per_gpu or 0.0) / best.row.osl if best else None,
        tp=best.tp if best else None,
        concurrency=best.concurrency if best else None,
        n_rows=len(group),
        measured_on=_oldest(best),
        version=best.version if best else None,
    )


def _oldest(one: Measured | None) -> date | None:
    return one.measured_on if one else None
