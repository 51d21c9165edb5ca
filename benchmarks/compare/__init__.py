"""The same work through kwire and its peers, each in a process of its own: `python -m benchmarks.compare --help`."""
