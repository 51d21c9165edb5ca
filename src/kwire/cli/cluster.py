"""`kwire cluster` and `kwire brokers`: what a cluster consists of, and what each broker has to do."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from kwire.cli.nouns import Verb, add_noun, administering
from kwire.cli.output import show
from kwire.cli.usage import Commands
from kwire.errors import BrokerError, KafkaError

if TYPE_CHECKING:
    from kwire.admin import Admin, QuorumInfo

_ANSWER_S = 5.0
_CLUSTER_KEYS = (
    "cluster",
    "controller",
    "quorum_leader",
    "voters",
    "brokers",
    "topics",
    "partitions",
    "under_replicated",
    "leaderless",
)


def add_parser(commands: Commands) -> None:
    """Adds both nouns and their verbs."""
    add_noun(commands, "cluster", "Describes the cluster.", _CLUSTER_VERBS)
    add_noun(commands, "brokers", "Lists the brokers of the cluster.", _BROKER_VERBS)


def _describe(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        cluster = admin.describe_cluster()
        topics = admin.describe_topics()
        quorum = _quorum(admin)
    partitions = [partition for topic in topics.values() for partition in topic.partitions.values()]
    row = (
        cluster.cluster_id,
        cluster.controller and cluster.controller.id,
        quorum and quorum.leader_id,
        None if quorum is None else [voter.replica_id for voter in quorum.voters],
        list(cluster.brokers),
        len(topics),
        len(partitions),
        sum(len(partition.isr) < len(partition.replicas) for partition in partitions),
        sum(partition.leader < 0 for partition in partitions),
    )
    show(_CLUSTER_KEYS, [row], options.output)
    return 0


def _quorum(admin: Admin) -> QuorumInfo | None:
    """The quorum of the metadata; None where ZooKeeper has them, or this user may not see it."""
    try:
        return admin.describe_metadata_quorum()
    except BrokerError:
        return None


def _brokers(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        cluster = admin.describe_cluster()
        partitions = [
            partition for topic in admin.describe_topics().values() for partition in topic.partitions.values()
        ]
        releases = {broker: _release(admin, broker) for broker in cluster.brokers}
    led = Counter(partition.leader for partition in partitions)
    kept = Counter(node for partition in partitions for node in partition.replicas)
    behind = Counter(node for partition in partitions for node in set(partition.replicas) - set(partition.isr))
    rows = [
        (
            broker.id,
            broker.host,
            broker.port,
            broker.rack,
            releases[broker.id],
            broker == cluster.controller,
            led[broker.id],
            kept[broker.id],
            behind[broker.id],
        )
        for broker in cluster.brokers.values()
    ]
    keys = ("broker", "host", "port", "rack", "release", "controller", "leads", "replicas", "out_of_sync")
    show(keys, rows, options.output)
    return 0


def _release(admin: Admin, broker: int) -> str | None:
    """The line of releases ("4.4") that the broker's versions of the APIs are those of, "<0.10" of one that tells none;
    None if it does not answer."""
    from kwire._inside import offered_versions
    from kwire.protocol import infer_release

    with suppress(KafkaError):  # whatever it answers, it has told its versions before
        admin.describe_features(broker=broker, timeout=_ANSWER_S)
    versions = offered_versions(admin, broker)
    if versions is None:
        return None
    return "<0.10" if versions.before_0_10 else infer_release(versions.ranges)


_CLUSTER_VERBS = (
    Verb(
        "describe",
        "Shows id, controller, quorum and brokers of the cluster, and how many partitions lack replicas or a leader.",
        _describe,
        "  kwire cluster                                    one row\n"
        "  kwire cluster describe --json                    for a monitor",
    ),
)
_BROKER_VERBS = (
    Verb(
        "list",
        "Lists the brokers: addresses, racks, releases, and of how many partitions each is leader or keeps a replica.",
        _brokers,
        "  kwire brokers                                    all brokers\n  kwire brokers --output csv",
    ),
)
