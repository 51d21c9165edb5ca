"""How many instructions the hot loops take, counted by callgrind: `python -m benchmarks.instructions --help`."""
