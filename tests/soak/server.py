"""The other side of a soak run, in a process of its own whose memory is not measured: a registry, and the embedded
broker with faults now and then.

    python -m tests.soak.server embedded      or "registry" for that alone

It prints one line of JSON, {"servers": ..., "registry": ...}, and ends with its standard input.
"""

import json
import logging
import random
import sys
import threading
from contextlib import ExitStack

from kwire.schema.error_codes import COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, NOT_LEADER_OR_FOLLOWER
from kwire.testing import Broker
from tests.registry.server import serving

FAULT_EVERY_S = 3.0
_RETENTION_BYTES = 1_000_000
_APIS = (
    "Produce",
    "Fetch",
    "Metadata",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "ConsumerGroupHeartbeat",
    "OffsetCommit",
    "FindCoordinator",
    "InitProducerId",
    "AddPartitionsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
    "ShareFetch",
    "ShareAcknowledge",
)
_ERRORS = {
    "Produce": NOT_LEADER_OR_FOLLOWER,
    "Fetch": NOT_LEADER_OR_FOLLOWER,
    "JoinGroup": COORDINATOR_LOAD_IN_PROGRESS,
    "OffsetCommit": NOT_COORDINATOR,
    "ConsumerGroupHeartbeat": NOT_COORDINATOR,
    "ShareFetch": NOT_LEADER_OR_FOLLOWER,
}


def misbehave(broker: Broker, over: threading.Event, rng: random.Random) -> None:
    """Closes, delays, refuses or swallows one request every few seconds."""
    while not over.wait(FAULT_EVERY_S):
        api = rng.choice(_APIS)
        match rng.choice(("close", "close", "lose", "delay", "mute", "error")):
            case "close":
                broker.faults.close(api)
            case "lose":
                broker.faults.close(api, after_effect=True)
            case "delay":
                broker.faults.delay(api, rng.uniform(0.1, 1.0))
            case "mute":
                broker.faults.mute(api)
            case _ if api in _ERRORS:
                broker.faults.error(api, _ERRORS[api])


def main(kind: str) -> None:
    """Serves until standard input ends."""
    logging.getLogger("kwire").setLevel(logging.ERROR)  # faults are the point
    over = threading.Event()
    with ExitStack() as open_things:
        said = {"registry": open_things.enter_context(serving()).url}
        if kind == "embedded":
            broker = open_things.enter_context(
                Broker(
                    nodes=3,
                    auto_create_topics=False,
                    retention_bytes=_RETENTION_BYTES,
                    group_initial_rebalance_delay_ms=0,
                )
            )
            said["servers"] = broker.bootstrap_servers
            mischief = threading.Thread(target=misbehave, args=(broker, over, random.Random(1)))
            mischief.start()
            open_things.callback(mischief.join)
            open_things.callback(over.set)
        print(json.dumps(said), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
