"""Writes the corpus anew: python -m tests.oracle."""

import sys

from tests.oracle import corpus
from tests.oracle.driver import Oracle
from tests.oracle.plugin import LAST_WITH_OLD_VERSIONS, NEWEST


def main() -> int:
    """Asks both oracles and replaces the two files."""
    with Oracle(NEWEST) as oracle, Oracle(LAST_WITH_OLD_VERSIONS) as old_oracle:
        for path, entries in (
            (corpus.RECORDS, corpus.build_records(oracle)),
            (corpus.MESSAGES, corpus.build_messages(oracle, old_oracle)),
        ):
            corpus.save(path, entries)
            print(f"{path}: {len(entries)} entries, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
