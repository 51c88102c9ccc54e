"""The register of computed tables. A new table is one more entry; its view follows by itself."""

from __future__ import annotations

from pipeline.schemas import derived, modelled, published, simulated
from pipeline.store.computed import ComputedTable

TABLES: tuple[ComputedTable, ...] = (
    ComputedTable(
        "models", "derived", derived.ModelRow, "Models with a public config, and sizes that claims speak of."
    ),
    ComputedTable(
        "hardware", "derived", derived.HardwareRow, "GPU boards, phones and TPU chips, with their sources."
    ),
    ComputedTable("links", "derived", derived.LinkRow, "Links that bytes cross, and the time of a gigabyte."),
    ComputedTable(
        "prices", "derived", derived.PriceRow, "The editable price file, each price with source and day."
    ),
    ComputedTable(
        "releases", "derived", derived.ReleaseRow, "Versions that people name, and whether they exist."
    ),
    ComputedTable(
        "kv_cases", "derived", derived.KvCaseRow, "Public logs of KV pools against the arithmetic."
    ),
    ComputedTable("fit", "derived", derived.FitRow, "What fits where under each engine's own rule."),
    ComputedTable("cost", "derived", derived.CostRow, "The least that a request can cost, by model and GPU."),
    ComputedTable(
        "gpus_needed", "derived", derived.GpusNeededRow, "Fewest GPUs for weights, by bits and memory."
    ),
    ComputedTable("time_floors", "derived", derived.TimeFloorRow, "Times that no software beats."),
    ComputedTable(
        "fragmentation", "derived", derived.FragmentationRow, "KV memory that a layout wastes, by trace."
    ),
    ComputedTable(
        "arithmetic", "derived", derived.ArithmeticRow, "Arithmetic that claims contain, worked out."
    ),
    ComputedTable(
        "pairs",
        "published",
        published.Pair,
        "Both engines on one setting: TensorRT-LLM over vLLM, flags kept.",
    ),
    ComputedTable(
        "published_sweeps",
        "published",
        published.PublishedSweep,
        "Medians of published sweeps, one engine each.",
    ),
    ComputedTable(
        "published_batch", "published", published.PublishedBatch, "Published times over those at lowest load."
    ),
    ComputedTable(
        "published_capacity",
        "published",
        published.PublishedCapacity,
        "Most published requests/s per GPU within an objective.",
    ),
    ComputedTable(
        "published_left_out", "published", published.PublishedLeftOut, "Published rows not used, and why."
    ),
    ComputedTable(
        "quoted_throughput",
        "published",
        published.QuotedThroughput,
        "NVIDIA's published throughputs of TensorRT-LLM, quoted.",
    ),
    ComputedTable(
        "fleet_cells",
        "simulated",
        simulated.FleetCellRow,
        "The fleet grid, one row a cell, median over seeds.",
    ),
    ComputedTable(
        "fleet_exchange",
        "simulated",
        simulated.FleetExchangeRow,
        "KV memory and GPUs that a better routing policy replaces at equal p99 TTFT.",
    ),
    ComputedTable(
        "fleet_regions",
        "simulated",
        simulated.FleetRegionRow,
        "What a cache in each region saves of the traffic between regions.",
    ),
    ComputedTable(
        "fleet_capacity",
        "simulated",
        simulated.FleetCapacityRow,
        "GPUs that hold an objective at 10,000 requests/s, by policy.",
    ),
    ComputedTable(
        "fleet_cascade",
        "simulated",
        simulated.FleetCascadeRow,
        "A small model first and a large one for the rest, by escalation.",
    ),
    ComputedTable(
        "fleet_moe", "simulated", simulated.FleetMoeRow, "Traffic of expert parallelism, by chips and skew."
    ),
    ComputedTable(
        "fleet_validation",
        "simulated",
        simulated.FleetCheckRow,
        "The simulator against theory, stored runs and publications, each gap stated.",
    ),
    ComputedTable(
        "fleet_steps", "simulated", simulated.StepTableRow, "Step times that the simulator was given."
    ),
    ComputedTable(
        "modelled",
        "modelled",
        modelled.ModelledPoint,
        "Times from AIConfigurator's kernel tables over a grid; never engine against engine.",
    ),
    ComputedTable(
        "modelled_dropped",
        "modelled",
        modelled.ModelledDropped,
        "Modelled points dropped as known artefacts.",
    ),
    ComputedTable("step_tables", "modelled", modelled.StepTime, "Step times for the fleet simulator."),
    ComputedTable(
        "model_error", "modelled", modelled.ModelError, "How far the model is from published measurements."
    ),
    ComputedTable(
        "model_error_excluded",
        "modelled",
        modelled.ModelErrorExcluded,
        "Published rows not predicted, and why.",
    ),
    ComputedTable(
        "model_direction",
        "modelled",
        modelled.ModelDirection,
        "How often the model names the faster engine of a published pair.",
    ),
)
