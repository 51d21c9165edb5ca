"""Kills brokers under writers by kwire, librdkafka and Java side by side: is all there, and how soon do they go on?

    python -m tests.kills                              50 kills, a million records of each writer: ten minutes and more
    python -m tests.kills --kills 5 --records 50000    less; the same by KILLS and RECORDS in the environment

Replication factor 3, min.insync.replicas 2, acks=all, idempotent; each client has its default settings. The writers are
under the same kills at the same time, so what they differ in is theirs. Exit code 1 where a record of kwire was lost,
doubled, put out of order or not acknowledged. The faults of the others and the times are for the reader.
"""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.kills.race import Race, Result
from tests.kills.report import table


def main(arguments: list[str]) -> int:
    """0 where each record of kwire arrived once and in order."""
    options = _options(arguments)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kwire-kills-") as folder:
        results = Race(Path(folder), options.seed).run(options.kills, options.records)
    print(table(results), flush=True)
    return _is_wrong(results)


def _is_wrong(results: list[Result]) -> bool:
    return any(result.faults for result in results if result.writer == "kwire")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kills", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=int(os.environ.get("KILLS", "50")))
    parser.add_argument("--records", type=int, default=int(os.environ.get("RECORDS", "1000000")), help="at least")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
