"""Counters of engines and routers, and the memory of processes; no interpretation."""
