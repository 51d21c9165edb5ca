"""kwire and its peers do the same work side by side: `python -m benchmarks.compare --help`."""
