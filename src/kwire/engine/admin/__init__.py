"""What Admin asks of brokers: a file per API, numbered by API key, and a file of calls per subject. Layer 3, no I/O.

The numbered files describe their APIs as `AdminApi`s that `kwire.engine.calls.fan_out` runs. The files of calls have a
function for each method of `Admin`, which checks its arguments. They are imported when a method first needs them:
most programs that have an Admin use two or three.
"""

from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.engine.admin import access_calls as access_calls
    from kwire.engine.admin import calls as calls
    from kwire.engine.admin import cluster_calls as cluster_calls
    from kwire.engine.admin import config_calls as config_calls
    from kwire.engine.admin import group_calls as group_calls
    from kwire.engine.admin import partition_calls as partition_calls
    from kwire.engine.admin import quorum_calls as quorum_calls
    from kwire.engine.admin import replica_calls as replica_calls
    from kwire.engine.admin import share_group_calls as share_group_calls
    from kwire.engine.admin import streams_group_calls as streams_group_calls
    from kwire.engine.admin import transaction_calls as transaction_calls
else:
    _CALLS = frozenset(
        {
            "access_calls",
            "calls",
            "cluster_calls",
            "config_calls",
            "group_calls",
            "partition_calls",
            "quorum_calls",
            "replica_calls",
            "share_group_calls",
            "streams_group_calls",
            "transaction_calls",
        }
    )

    def __getattr__(name: str) -> Any:
        if name not in _CALLS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
