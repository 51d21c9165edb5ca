"""How much a run takes on: `make test-all` sets KWIRE_THOROUGH=1; `make test` draws less, and skips versions.

`make test-soak` sets KWIRE_SOAK=1 as well: tests of faults on real brokers with many more kills and records, and
of threads that switch at every allocation for longer.
KWIRE_REPEATS=25 makes so many runs of a test that draws its faults: with the seeds that follow the first.
KWIRE_FIRST_SEED=1000 draws others than the ones that every run draws: what is random there begins with that seed.
"""

import os

THOROUGH = os.environ.get("KWIRE_THOROUGH") == "1"
SOAK = os.environ.get("KWIRE_SOAK") == "1"
REPEATS = int(os.environ.get("KWIRE_REPEATS", "1"))
FIRST_SEED = int(os.environ.get("KWIRE_FIRST_SEED", "0"))


def seeds(count: int) -> range:
    """So many seeds, from FIRST_SEED on."""
    return range(FIRST_SEED, FIRST_SEED + count)
