"""The published lane: GPU measurements that others made, with their confounders as filters and flags."""
