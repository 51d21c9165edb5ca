"""Whether this run takes its time: `make test` sets KWIRE_THOROUGH=1; the quick run draws less, and skips versions."""

import os

THOROUGH = os.environ.get("KWIRE_THOROUGH") == "1"
