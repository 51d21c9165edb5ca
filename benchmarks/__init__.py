"""Benchmarks: of the codec (pytest-benchmark) and beside the peers (`benchmarks.compare`)."""
