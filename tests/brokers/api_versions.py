"""Records what every release of the matrix answers to ApiVersions: python -m tests.brokers.api_versions.

The answers, version 0 as bytes, stand in tests/schema/api_versions.json, so that the tables of releases can be held
against real brokers without Java. Only brokers from 0.10 on answer.
"""

import json
import sys
from pathlib import Path

from kwire import protocol
from tests.brokers import RELEASES, Cluster
from tests.brokers.wire import wire_to

RECORDED = Path(__file__).parents[1] / "schema" / "api_versions.json"


def main() -> int:
    """Starts one release after the other and replaces the file."""
    answers = {}
    for release in RELEASES:
        if "api-versions" not in release.abilities:
            continue
        with Cluster(release) as cluster, wire_to(cluster) as wire:
            answer = wire.call(protocol.ApiVersionsRequest(), 0)
            answers[release.name] = answer.encode(0).hex()
            print(f"{release.name}: {len(answer.api_keys)} keys", flush=True)
    RECORDED.write_text(json.dumps(answers, indent=1) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
