"""The records of Kafka's own topics: what brokers, coordinators and controllers write down for themselves.

One file per topic or part of one; every message can be had from here by its name (`logs.OffsetCommitValue`), too.
`lookup` finds the message of a key and of a value, by topic and by what the bytes begin with; the layouts that stand
around the messages are in `envelopes`. Layer 2: no I/O.
"""

from __future__ import annotations

import importlib

from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.schema.logs.consumer_groups import *  # noqa: F403
    from kwire.schema.logs.consumer_offsets import *  # noqa: F403
    from kwire.schema.logs.metadata_nodes import *  # noqa: F403
    from kwire.schema.logs.metadata_settings import *  # noqa: F403
    from kwire.schema.logs.metadata_topics import *  # noqa: F403
    from kwire.schema.logs.remote_log_metadata import *  # noqa: F403
    from kwire.schema.logs.share_groups import *  # noqa: F403
    from kwire.schema.logs.share_state import *  # noqa: F403
    from kwire.schema.logs.streams_groups import *  # noqa: F403
    from kwire.schema.logs.transaction_state import *  # noqa: F403

__all__ = ["ROOMS"]

ROOMS = (
    "consumer_groups",
    "consumer_offsets",
    "metadata_nodes",
    "metadata_settings",
    "metadata_topics",
    "remote_log_metadata",
    "share_groups",
    "share_state",
    "streams_groups",
    "transaction_state",
)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name[:1].isupper():
            for room in ROOMS:
                module = importlib.import_module(f"{__name__}.{room}")
                if name in module.__all__:
                    found = globals()[name] = getattr(module, name)
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
