"""Time of an engine step from a table: decode by batch and context, prefill by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pipeline.errors import InputError

Floats = np.ndarray[Any, np.dtype[np.float64]]

_BATCHES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_CONTEXTS = (1, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)


def _refuse(what: str, next_step: str | None = None) -> NoReturn:
    raise InputError(what, where="step table", next_step=next_step)


@dataclass(frozen=True, eq=False)
class StepTable:
    """Step times.

    A step takes decode_ms(batch, mean context), or prefill_base_ms where nothing decodes, and for each chunk
    of a prompt tokens x (prefill_ms_per_token + prefill_ms_per_token_kctx x mean context / 1000). Between the
    table's points decode times are bilinear; beyond the last context they go on straight, beyond the last
    batch they stay.

    Args:
        batches: float64[b], sequences that decode together; rising, from 1.
        contexts: float64[c], mean tokens of their contexts; rising.
        decode_ms: float64[b, c], ms.
        prefill_base_ms: step without decodes before its first token, ms.
        prefill_ms_per_token: a prompt token more, ms.
        prefill_ms_per_token_kctx: its attention for each thousand tokens before it, ms.
        error: relative error of the table where it is known; shown, not used.
        source: where it is from, with date.

    Raises:
        InputError: a hole, a time below zero, or a time that falls as the batch grows.
    """

    batches: Floats
    contexts: Floats
    decode_ms: Floats
    prefill_base_ms: float
    prefill_ms_per_token: float
    prefill_ms_per_token_kctx: float = 0.0
    error: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("batches", "contexts", "decode_ms"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        for name, axis in (("batches", self.batches), ("contexts", self.contexts)):
            _check_axis(name, axis)
        if self.batches[0] != 1:
            _refuse(f"the first batch is {self.batches[0]:g}", "begin with one sequence")
        self._check_times()
        for name in ("prefill_base_ms", "prefill_ms_per_token", "prefill_ms_per_token_kctx"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                _refuse(f"{name} is {getattr(self, name)}", "give a finite number, zero or more")

    def _check_times(self) -> None:
        wanted = (self.batches.size, self.contexts.size)
        if self.decode_ms.shape != wanted:
            _refuse(f"decode_ms has shape {self.decode_ms.shape}, batches and contexts ask for {wanted}")
        holes = ~np.isfinite(self.decode_ms) | (self.decode_ms < 0)
        if holes.any():
            _refuse(f"no time {self._place(holes)}", "measure it, or leave that batch or context out")
        falls = np.diff(self.decode_ms, axis=0) < 0
        if falls.any():
            where = self._place(falls)
            _refuse(
                f"a step gets faster as the batch grows, {where}", "measure it again, or smooth the table"
            )

    def _place(self, wrong: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
        row, column = np.argwhere(wrong)[0]
        return f"at batch {self.batches[row]:g}, context {self.contexts[column]:g}"

    def decode_at(self, batch: float, context: float) -> float:
        """Decode time of one step, ms."""
        batch = min(max(batch, self.batches[0]), self.batches[-1])
        across = [_between(self.contexts, row, context) for row in self.decode_ms]
        return _between(self.batches, np.asarray(across), batch)

    def prefill_at(self, tokens: int, before: int = 0) -> float:
        """Time that a chunk of a prompt adds to a step, ms; `before` tokens of it are done or cached."""
        return tokens * (
            self.prefill_ms_per_token + self.prefill_ms_per_token_kctx * (before + tokens / 2) / 1000
        )

    @classmethod
    def constant(
        cls,
        decode_ms: float,
        prefill_ms_per_token: float,
        prefill_base_ms: float,
        *,
        error: float | None = None,
        source: str = "",
    ) -> StepTable:
        """One decode time for every batch and context."""
        return cls(
            np.ones(1), np.ones(1), np.full((1, 1), decode_ms), prefill_base_ms, prefill_ms_per_token,
            error=error, source=source,
        )  # fmt: skip

    @classmethod
    def from_grid(  # noqa: PLR0913
        cls,
        batches: ArrayLike,
        contexts: ArrayLike,
        ms: ArrayLike,
        prefill_tokens: ArrayLike,
        prefill_ms: ArrayLike,
        *,
        prefill_ms_per_token_kctx: float = 0.0,
        error: float | None = None,
        source: str = "",
    ) -> StepTable:
        """From measured or modelled points; the prefill line is fitted through (tokens, ms) by least squares.

        Args:
            batches: sequences, rising.
            contexts: tokens, rising.
            ms: [batches, contexts], decode step, ms.
            prefill_tokens: tokens of prompts that were computed alone.
            prefill_ms: their times, ms.
            prefill_ms_per_token_kctx: attention part, taken off the points before the fit.
            error: see the class.
            source: see the class.
        """
        tokens, times = np.asarray(prefill_tokens, np.float64), np.asarray(prefill_ms, np.float64)
        base, slope = fit_line(tokens, times - prefill_ms_per_token_kctx * tokens**2 / 2000)
        return cls(
            np.asarray(batches, np.float64), np.asarray(contexts, np.float64), np.asarray(ms, np.float64),
            base, slope, prefill_ms_per_token_kctx, error, source,
        )  # fmt: skip

    @classmethod
    def from_roofline(  # noqa: PLR0913
        cls,
        weights_gib: float,
        kv_kib_per_token: float,
        active_params_b: float,
        hbm_gb_s: float,
        tflop_s: float,
        *,
        mfu: float = 0.5,
        mbu: float = 0.8,
        overhead_ms: float = 2.0,
        prefill_ms_per_token_kctx: float = 0.0,
        error: float | None = None,
        source: str = "roofline",
    ) -> StepTable:
        """From bandwidth and peak: the longer of reading weights and KV, and of computing.

        Args:
            weights_gib: read in every step, GiB, all GPUs of a replica.
            kv_kib_per_token: KV of one token, KiB.
            active_params_b: parameters that take part in a token, thousand millions.
            hbm_gb_s: memory bandwidth of the replica, GB/s.
            tflop_s: its dense peak, TFLOP/s.
            mfu: share of the peak that is reached.
            mbu: share of the bandwidth that is reached.
            overhead_ms: launches and scheduling of a step, ms.
            prefill_ms_per_token_kctx: see the class.
            error: see the class.
            source: see the class.
        """
        asked = (weights_gib, kv_kib_per_token, active_params_b, hbm_gb_s, tflop_s, mfu, mbu)
        if not all(np.isfinite(value) and value > 0 for value in asked):
            _refuse("a roofline needs sizes and speeds above zero")
        batches, contexts = np.asarray(_BATCHES, np.float64), np.asarray(_CONTEXTS, np.float64)
        weights_ms = weights_gib * 2**30 / (hbm_gb_s * mbu * 1e6)
        kv_ms = batches[:, None] * contexts * kv_kib_per_token * 2**10 / (hbm_gb_s * mbu * 1e6)
        token_ms = 2 * active_params_b * 1e9 / (tflop_s * mfu * 1e9)
        times = np.maximum(weights_ms + kv_ms, batches[:, None] * token_ms) + overhead_ms
        return cls(
            batches,
            contexts,
            times,
            weights_ms + overhead_ms,
            token_ms,
            prefill_ms_per_token_kctx,
            error,
            source,
        )


def _check_axis(name: str, axis: Floats) -> None:
    if axis.ndim != 1 or axis.size == 0:
        _refuse(f"{name} has shape {axis.shape}", "give a list of numbers")
    if not (np.isfinite(axis).all() and (np.diff(axis) > 0).all() and axis[0] >= 0):
        _refuse(f"{name} do not rise", "give each once, in order")


def _between(at: Floats, values: Floats, place: float) -> float:
    """Straight between the points, the first value before them, straight on after the last."""
    if at.size == 1 or place <= at[0]:
        return float(values[0])
    low = min(int(np.searchsorted(at, place, side="left")) - 1, at.size - 2)
    way = (place - at[low]) / (at[low + 1] - at[low])
    return float(values[low] + way * (values[low + 1] - values[low]))


def fit_line(tokens: Floats, ms: Floats) -> tuple[float, float]:
    """Intercept (ms, not below zero) and slope (ms a token) of the least-squares line.

    Raises:
        InputError: fewer than two different lengths, a hole, or times that do not rise with tokens.
    """
    if tokens.shape != ms.shape or np.unique(tokens).size < 2 or not np.isfinite(tokens).all():
        _refuse("a prefill line needs the times of two lengths or more")
    if not np.isfinite(ms).all():
        _refuse("a prefill point has no time")
    slope, base = np.polyfit(tokens, ms, 1)
    if base < 0:
        base, slope = 0.0, float((tokens * ms).sum() / (tokens**2).sum())
    if slope <= 0:
        _refuse("prefill times do not rise with tokens", "measure longer prompts")
    return float(base), float(slope)
