"""How much a run takes on: `make test` sets KWIRE_THOROUGH=1; the quick run draws less, and skips versions.

`make test-soak` sets KWIRE_SOAK=1 as well: tests of faults on real brokers with many more kills and records, and
of threads that switch at every allocation for longer.
"""

import os

THOROUGH = os.environ.get("KWIRE_THOROUGH") == "1"
SOAK = os.environ.get("KWIRE_SOAK") == "1"
