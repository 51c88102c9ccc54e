"""Writes data/catalogue/lengths.toml: figures of the lengths in public traces, never the traces.

Usage: python scripts/lengths.py FOLDER, FOLDER holding the Azure CSV files and the Mooncake JSONL files.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np

from pipeline.paths import Workspace

AZURE = "Azure LLM inference trace 2023 (github.com/Azure/AzurePublicDataset, CC-BY 4.0)"
MOONCAKE = "Mooncake trace (github.com/kvcache-ai/Mooncake, FAST25-release/traces, Apache-2.0)"
TRACES = {
    "azure_code": ("AzureLLMInferenceTrace_code.csv", AZURE, "2023-11-16"),
    "azure_conversation": ("AzureLLMInferenceTrace_conv.csv", AZURE, "2023-11-16"),
    "mooncake_conversation": ("conversation_trace.jsonl", MOONCAKE, "2025-02-25"),
    "mooncake_synthetic": ("synthetic_trace.jsonl", MOONCAKE, "2025-02-25"),
}


def main(folder: Path) -> None:
    """Read all traces, write their figures."""
    head = "# Written by scripts/lengths.py from public traces; the traces themselves are not kept here.\n"
    parts = [entry(name, folder / file, source, day) for name, (file, source, day) in TRACES.items()]
    (Workspace().data / "catalogue" / "lengths.toml").write_text(head + "".join(parts))


def lengths(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Prompt and output tokens of every request."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8") as file:
            pairs = [(int(row["ContextTokens"]), int(row["GeneratedTokens"])) for row in csv.DictReader(file)]
    else:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = [(row["input_length"], row["output_length"]) for row in rows]
    both = np.array(pairs)
    return both[:, 0], both[:, 1]


def entry(name: str, path: Path, source: str, day: str) -> str:
    """One trace as TOML."""
    prompt, output = lengths(path)
    total = prompt + output
    figures = {
        "requests": len(total),
        "input_mean": prompt.mean(),
        "output_mean": output.mean(),
        "total_mean": total.mean(),
        "total_p50": int(np.percentile(total, 50)),
        "total_p90": int(np.percentile(total, 90)),
        "total_p99": int(np.percentile(total, 99)),
        "total_max": int(total.max()),
        "tail_tokens_16": float((-total % 16).mean()),
        "tail_tokens_32": float((-total % 32).mean()),
        "pow2_mean": float((2.0 ** np.ceil(np.log2(total))).mean()),
    }
    lines = [
        f"{key} = {round(value, 3) if isinstance(value, float) else value}" for key, value in figures.items()
    ]
    head = [f'trace = "{name}"', f'source = "{source}"', f"dated = {day}"]
    return "\n[[lengths]]\n" + "\n".join([*head, *lines]) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
