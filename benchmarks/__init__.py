"""Benchmarks: `README.md` says which there are."""
