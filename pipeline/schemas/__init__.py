"""Strict, frozen types and the identities made from them; no reading or writing."""
