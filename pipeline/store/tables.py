"""The register of computed tables. A new table is one more entry; its view follows by itself."""

from __future__ import annotations

from pipeline.store.computed import ComputedTable

TABLES: tuple[ComputedTable, ...] = ()
