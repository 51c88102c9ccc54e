"""Times that no software can beat: bytes over bandwidth, operations over peak, light over distance."""

from __future__ import annotations

from pipeline.derived.register import formula

# Light in single-mode fibre, refractive index 1.467 (duckkit.dev glossary; SMF-28).
FIBRE_KM_PER_MS = 204.4


@formula("bytes / bandwidth", "ms", "each byte crosses the link once")
def transfer_ms(moved_bytes: float, gb_per_s: float) -> float:
    """Time to move bytes over a link.

    Args:
        moved_bytes: bytes.
        gb_per_s: bandwidth, 10^9 bytes a second.
    """
    return moved_bytes / (gb_per_s * 1e6)


@formula(
    "(weights read + KV read) / memory bandwidth",
    "ms a step",
    "a decode step reads the weights it uses and all KV of its batch",
)
def decode_step_ms(weight_bytes: float, kv_bytes: float, gb_per_s: float) -> float:
    """Least time of one decode step.

    Args:
        weight_bytes: bytes of weights that the step uses, on one GPU.
        kv_bytes: bytes of KV of all requests of the batch, on one GPU.
        gb_per_s: memory bandwidth of the GPU.
    """
    return transfer_ms(weight_bytes + kv_bytes, gb_per_s)


@formula(
    "2 x active parameters x tokens / (GPUs x peak)",
    "ms",
    "two operations a weight and token; attention left out",
)
def prefill_ms(active_parameters: float, tokens: int, tflops: float, gpus: int = 1) -> float:
    """Least time to compute a prompt.

    Args:
        active_parameters: weights used for one token.
        tokens: prompt tokens.
        tflops: dense peak of a GPU at the width used, TFLOP/s.
        gpus: GPUs that share the work.
    """
    return 2 * active_parameters * tokens / (gpus * tflops * 1e9)


@formula("2 x cable / 204.4 km a ms", "ms", "speed of light over the refractive index of silica, 1.467")
def fibre_round_trip_ms(cable_km: float) -> float:
    """Light through a cable and back."""
    return 2 * cable_km / FIBRE_KM_PER_MS


@formula(
    "2 x MoE layers x experts a token x hidden x bytes x share of experts elsewhere",
    "B a token",
    "each chosen expert gets the hidden vector and sends one back (arXiv:2401.06066)",
)
def all_to_all_bytes(
    layers: int, experts_per_token: int, hidden_size: int, bytes_each: float, gpus: int
) -> float:
    """Bytes that a token sends and receives when experts are spread over GPUs.

    Args:
        layers: layers with experts.
        experts_per_token: experts chosen for a token.
        hidden_size: elements of the vector sent.
        bytes_each: bytes of an element.
        gpus: GPUs that the experts are spread over evenly.
    """
    return 2 * layers * experts_per_token * hidden_size * bytes_each * (1 - 1 / gpus)
