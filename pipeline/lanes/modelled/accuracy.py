"""Every published row that can be predicted, predicted: errors, exclusions, and the direction of pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipeline.lanes.modelled.ask import Answer, Job
from pipeline.lanes.modelled.labels import LABEL_MAPS, LabelMap, stands_for
from pipeline.lanes.modelled.statistics import errors
from pipeline.lanes.published.confounders import flags
from pipeline.lanes.published.measured import Measured, tok_s_per_gpu
from pipeline.lanes.published.pairs import matched
from pipeline.lanes.published.sweeps import band_of
from pipeline.schemas.modelled import ModelDirection, ModelError, ModelErrorExcluded

Metric = Literal["tpot", "ttft", "tok_s_per_gpu"]
METRICS: tuple[Metric, ...] = ("tpot", "ttft", "tok_s_per_gpu")
GPUS = ("H100", "H200", "B200")
OTHER_GPU = "a GPU that the grid does not cover"
UNKNOWN = "a model or precision that the package ships no config of"
OOM = "out of memory by the package's rule, though it was measured"


@dataclass(frozen=True)
class Predicted:
    """A measured row with its prediction, or the reason why there is none."""

    one: Measured
    label_map: LabelMap
    values: Mapping[Metric, float] | None
    reason: str | None


def sample_jobs(kept: Sequence[Measured]) -> list[Job]:
    """Jobs that predict the sample: one for each engine of each label map, with all of its points."""
    wanted: dict[str, Job] = {}
    for label_map in LABEL_MAPS:
        for one in kept:
            job = _job(one, label_map)
            if job is None:
                continue
            known = wanted.get(job.key)
            if known is None:
                wanted[job.key] = job
            elif job.points[0] not in known.points:
                wanted[job.key] = replace(known, points=(*known.points, *job.points))
    return list(wanted.values())


def predict(kept: Sequence[Measured], jobs: Sequence[Job], answers: Mapping[str, Answer]) -> list[Predicted]:
    """Each measured row under both label maps."""
    points = {job.key: job.points for job in jobs}
    return [_predicted(one, label_map, points, answers) for label_map in LABEL_MAPS for one in kept]


def _job(one: Measured, label_map: LabelMap) -> Job | None:
    stands = stands_for(one, label_map)
    if stands is None or one.gpu not in GPUS:
        return None
    row = one.row
    batch = max(1, round((one.concurrency or row.batch_size or 1) / one.attention_dp))
    parts = (stands.model, stands.gemm, stands.kv, stands.moe, row.system, row.backend)
    wide = (one.tp, one.attention_dp, one.moe_ep)
    return Job(
        key="sample " + " ".join(str(part) for part in (*parts, *wide)),
        model=stands.model,
        system=row.system,
        backend=row.backend,
        tp=one.tp,
        points=((row.isl, row.osl, batch),),
        gemm=stands.gemm,
        kv=stands.kv,
        moe=stands.moe,
        dp=one.attention_dp,
        ep=one.moe_ep,
    )


def _predicted(
    one: Measured, label_map: LabelMap, points: Mapping[str, Any], answers: Mapping[str, Answer]
) -> Predicted:
    job = _job(one, label_map)
    if job is None:
        return Predicted(one, label_map, None, UNKNOWN if one.gpu in GPUS else OTHER_GPU)
    answer = answers[job.key]
    if answer.error:
        return Predicted(one, label_map, None, answer.error)
    at = points[job.key].index(job.points[0])
    found = answer.points[at]
    if found is None:
        return Predicted(one, label_map, None, answer.reasons[at])
    if not found[4]:
        return Predicted(one, label_map, None, OOM)
    load = one.concurrency or one.row.batch_size or 1
    rate = tok_s_per_gpu(load, one.row.osl, found[0], found[1], one.gpus)
    return Predicted(one, label_map, {"ttft": found[0], "tpot": found[1], "tok_s_per_gpu": rate}, None)


def measured_value(one: Measured, metric: Metric) -> float | None:
    """The measured value of a metric."""
    if metric == "tok_s_per_gpu":
        return one.tok_s_per_gpu
    return one.row.silicon_ttft_ms if metric == "ttft" else one.row.silicon_tpot_ms


def named(one: Measured) -> str:
    """Model with its precision, as error tables name it."""
    return f"{one.model} {one.row.precision or '16 bits or not recorded'}"


def _groups(one: Measured) -> Iterator[tuple[str, str, str, str, str]]:
    """(level, engine, gpu, model, load) of every group that a row counts in."""
    load = band_of(one.concurrency or one.row.batch_size or 1)
    yield "all", "all", "all", "all", "all"
    yield "engine", one.engine, "all", "all", "all"
    yield "gpu", one.engine, one.gpu, "all", "all"
    yield "model", one.engine, one.gpu, named(one), "all"
    yield "load", one.engine, "all", "all", load


def error_table(predicted: Iterable[Predicted]) -> list[ModelError]:
    """Errors of every group, metric and label map."""
    values: defaultdict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    for each in predicted:
        for metric, guess in (each.values or {}).items():
            truth = measured_value(each.one, metric)
            for group in _groups(each.one) if truth is not None else ():
                values[each.label_map, *group, metric].append((guess, truth or 0.0))
    return [_error(key, pairs) for key, pairs in sorted(values.items())]


def _error(key: tuple[Any, ...], pairs: Sequence[tuple[float, float]]) -> ModelError:
    label_map, level, engine, gpu, model, load, metric = key
    found = errors([guess for guess, _ in pairs], [truth for _, truth in pairs])
    return ModelError(
        label_map=label_map,
        level=level,
        engine=engine,
        gpu=gpu,
        model=model,
        load=load,
        metric=metric,
        n=found.n,
        median_ape=found.median_ape,
        mean_ape=found.mean_ape,
        p90_ape=found.p90_ape,
        bias=found.bias,
        rank_correlation=found.rank_correlation,
        in_sample=engine in ("vllm", "all") and metric != "tpot",
    )


def excluded(predicted: Iterable[Predicted]) -> list[ModelErrorExcluded]:
    """Rows without a prediction, counted by reason."""
    counts = Counter(
        (each.label_map, each.one.engine, each.one.gpu, named(each.one), each.reason)
        for each in predicted
        if each.reason
    )
    return [
        ModelErrorExcluded(
            label_map=label_map, engine=engine, gpu=gpu, model=model, reason=reason or "", n=count
        )
        for (label_map, engine, gpu, model, reason), count in sorted(counts.items(), key=str)
    ]


def directions(kept: Sequence[Measured], predicted: Iterable[Predicted]) -> list[ModelDirection]:
    """Share of pairs without a flag of which the package names the faster engine, by sweep and in all."""
    guesses = {(each.one.row.id, each.label_map): each.values for each in predicted if each.values}
    counts: defaultdict[tuple[LabelMap, str, Metric], list[bool]] = defaultdict(list)
    for vllm, trt in matched(kept):
        apart = abs(_ordinal(trt) - _ordinal(vllm))
        if list(flags(vllm, trt, apart)):
            continue
        for label_map in LABEL_MAPS:
            both = [guesses.get((one.row.id, label_map)) for one in (vllm, trt)]
            for metric in METRICS if all(both) else ():
                right = _right(vllm, trt, both, metric)
                for sweep in (f"{vllm.model} {vllm.row.precision} {vllm.gpu}", "all"):
                    counts[label_map, sweep, metric].append(right)
    return [
        ModelDirection(
            label_map=label_map,
            sweep=sweep,
            metric=metric,
            n=len(rights),
            n_right=sum(rights),
            share_right=sum(rights) / len(rights),
        )
        for (label_map, sweep, metric), rights in sorted(counts.items())
    ]


def _right(vllm: Measured, trt: Measured, both: Sequence[Any], metric: Metric) -> bool:
    measured = (measured_value(trt, metric) or 0.0) > (measured_value(vllm, metric) or 0.0)
    return bool(measured == (both[1][metric] > both[0][metric]))


def _ordinal(one: Measured) -> int:
    return one.measured_on.toordinal() if one.measured_on else 0
