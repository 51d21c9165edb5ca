"""What a call of `Admin` about features, the quorum and the brokers in it asks, from its arguments.

Layer 3, no I/O; see `calls.py`. Loaded by the first such call.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping
from uuid import UUID

from kwire._typing import Any
from kwire.engine.admin.a18_api_versions import DescribeFeatures
from kwire.engine.admin.a55_describe_quorum import DescribeQuorum
from kwire.engine.admin.a57_update_features import UPGRADE_TYPES, UpdateFeatures
from kwire.engine.admin.a64_unregister_broker import UnregisterBroker
from kwire.engine.admin.a80_add_raft_voter import AddRaftVoter
from kwire.engine.admin.a81_remove_raft_voter import RemoveRaftVoter
from kwire.engine.admin.calls import Question, as_it_is
from kwire.engine.admin.quorum_results import FeatureMetadata, FeatureUpdate, QuorumInfo, RaftVoterEndpoint
from kwire.engine.admin.raft_voters import Voter
from kwire.engine.calls import arguments
from kwire.engine.calls.words import word_in
from kwire.errors import ConfigError

_MAX_LEVEL = 2**15 - 1
_MAX_PORT = 2**16 - 1
_UUID_LETTERS = 22


def describe_features(broker: int | None) -> Question[FeatureMetadata]:
    """`Admin.describe_features`."""
    return Question(DescribeFeatures(None if broker is None else arguments.broker_id(broker)), as_it_is)


def update_features(updates: Mapping[str, Any], *, validate_only: bool) -> Question[None]:
    """`Admin.update_features`."""
    if not isinstance(updates, Mapping):
        raise ConfigError(f"updates={updates!r}: expected a mapping {{feature: level}}")
    wanted = {_feature(name): _update(name, detail) for name, detail in updates.items()}
    api = UpdateFeatures(wanted, validate_only=arguments.flag(validate_only, "validate_only"))
    return Question(api if wanted else None, lambda found: None)


def describe_metadata_quorum() -> Question[QuorumInfo]:
    """`Admin.describe_metadata_quorum`."""
    return Question(DescribeQuorum(), as_it_is)


def add_raft_voter(
    voter_id: int, directory_id: UUID | str, endpoints: Iterable[Any], *, cluster_id: str | None
) -> Question[None]:
    """`Admin.add_raft_voter`."""
    if isinstance(endpoints, str | bytes | Mapping | RaftVoterEndpoint) or not isinstance(endpoints, Iterable):
        raise ConfigError(f"endpoints={endpoints!r}: expected a list of (listener, host, port)")
    places = [_endpoint(each) for each in endpoints]
    if not places:
        raise ConfigError("endpoints are empty: a voter needs one at least")
    return Question(AddRaftVoter(_voter(voter_id, directory_id, cluster_id), places), lambda found: None)


def remove_raft_voter(voter_id: int, directory_id: UUID | str, *, cluster_id: str | None) -> Question[None]:
    """`Admin.remove_raft_voter`."""
    return Question(RemoveRaftVoter(_voter(voter_id, directory_id, cluster_id)), lambda found: None)


def unregister_broker(broker: int) -> Question[None]:
    """`Admin.unregister_broker`."""
    return Question(UnregisterBroker(arguments.broker_id(broker)), lambda found: None)


def _feature(name: object) -> str:
    return arguments.checked_name(name, "the name of a feature")


def _update(name: str, detail: object) -> FeatureUpdate:
    if isinstance(detail, Mapping):
        odd = [key for key in detail if key not in FeatureUpdate._fields]
        if odd or "max_version_level" not in detail:
            raise ConfigError(f"feature {name!r}: {detail!r}; expected {', '.join(FeatureUpdate._fields)}")
        detail = FeatureUpdate(**detail)
    elif isinstance(detail, int):
        detail = FeatureUpdate(detail, "upgrade" if detail else "safe-downgrade")
    if not isinstance(detail, tuple) or len(detail) != len(FeatureUpdate._fields):
        raise ConfigError(f"feature {name!r}: {detail!r} is neither a level nor (level, upgrade type)")
    level, kind = detail
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= _MAX_LEVEL:
        raise ConfigError(f"feature {name!r}: level {level!r}; expected a whole number from 0 to {_MAX_LEVEL}")
    known = word_in(kind, UPGRADE_TYPES)
    if known is None:
        raise ConfigError(f"feature {name!r}: upgrade_type={kind!r}; expected {', '.join(UPGRADE_TYPES)}")
    if level == 0 and known == "upgrade":
        raise ConfigError(
            f"feature {name!r}: level 0 switches it off, which is a safe-downgrade or an unsafe-downgrade"
        )
    return FeatureUpdate(level, known)


def _voter(voter_id: object, directory_id: object, cluster_id: object) -> Voter:
    if cluster_id is not None:
        if not isinstance(cluster_id, str) or not cluster_id:
            raise ConfigError(f"cluster_id={cluster_id!r}: expected a str, or None for whatever it is")
        arguments.carried(cluster_id, "cluster_id")
    return Voter(arguments.broker_id(voter_id, "voter_id"), _directory_id(directory_id), cluster_id)


def _directory_id(given: object) -> UUID:
    """A UUID, as such or as text: 22 letters as Kafka's tools print it, or with dashes."""
    if isinstance(given, UUID):
        return given
    try:
        if not isinstance(given, str):
            raise ValueError
        return UUID(bytes=urlsafe_b64decode(f"{given}==")) if len(given) == _UUID_LETTERS else UUID(given)
    except ValueError:
        raise ConfigError(
            f"voter_directory_id={given!r}: expected a UUID, or its 22 letters as Kafka prints them"
        ) from None


def _endpoint(given: object) -> RaftVoterEndpoint:
    if isinstance(given, Mapping) and set(given) == set(RaftVoterEndpoint._fields):
        given = tuple(given[name] for name in RaftVoterEndpoint._fields)
    if not isinstance(given, tuple) or len(given) != len(RaftVoterEndpoint._fields):
        raise ConfigError(f"{given!r} is not an endpoint: expected (listener, host, port)")
    listener, host, port = given
    arguments.checked_name(listener, "the listener of an endpoint")
    arguments.checked_name(host, "the host of an endpoint")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= _MAX_PORT:
        raise ConfigError(f"{given!r} is not an endpoint: port {port!r} is not from 1 to {_MAX_PORT}")
    return RaftVoterEndpoint(listener, host, port)
