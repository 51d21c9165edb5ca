"""Assignments worked out by hand, and the checks of the setting. `tests/oracle` compares thousands with Java's."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from kwire import TopicPartition
from kwire._codec import no_uuid
from kwire.engine.groups.assignors import Assignment, Assignor, ClusterView, MemberSubscription, assignors_of
from kwire.engine.groups.assignors.blobs import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kwire.engine.groups.assignors.java_order import hash_order, string_hash, text_order
from kwire.engine.groups.assignors.range import Range
from kwire.engine.groups.assignors.roundrobin import RoundRobin
from kwire.engine.groups.assignors.sticky import CooperativeSticky, Sticky
from kwire.engine.metadata.metadata import Metadata, PartitionInfo, TopicInfo
from kwire.errors import CodecError, ConfigError, KafkaError
from kwire.protocol import group_blobs

TWO_TOPICS = ClusterView({"t0": 3, "t1": 3})


def assign(assignor: Assignor, cluster: ClusterView, members: Mapping[str, MemberSubscription]) -> dict[str, str]:
    """What each member gets, as "topic-partition" with spaces between."""
    return {
        member: " ".join(f"{topic}-{partition}" for topic, partition in partitions)
        for member, partitions in assignor.assign(cluster, members).items()
    }


def test_range_gives_each_member_a_run_of_each_topic() -> None:
    both = MemberSubscription(["t0", "t1"])
    assert assign(Range(), TWO_TOPICS, {"c0": both, "c1": both}) == {
        "c0": "t0-0 t0-1 t1-0 t1-1",
        "c1": "t0-2 t1-2",
    }


def test_range_orders_static_members_by_their_instance_ids_and_before_others() -> None:
    topics = ["t0"]
    members = {
        "a": MemberSubscription(topics),
        "b": MemberSubscription(topics, group_instance_id="2"),
        "c": MemberSubscription(topics, group_instance_id="1"),
    }
    assert assign(Range(), ClusterView({"t0": 4}), members) == {"c": "t0-0 t0-1", "b": "t0-2", "a": "t0-3"}


def test_range_matches_racks_within_equal_shares() -> None:
    """Partition 0 is in rack b, 1 and 2 in rack a: c0, in rack a, takes 1 and 2 and no more than its two."""
    racks = {"t0": [frozenset("b"), frozenset("a"), frozenset("a")]}
    members = {"c0": MemberSubscription(["t0"], rack_id="a"), "c1": MemberSubscription(["t0"], rack_id="b")}
    assert assign(Range(), ClusterView({"t0": 3}, racks), members) == {"c0": "t0-1 t0-2", "c1": "t0-0"}


def test_range_keeps_topics_together_that_are_alike() -> None:
    """Partition 0 of both topics is in rack b, so c1 takes both; 1 of t0 is in rack a, of t1 in b: no match."""
    racks = {"t0": [frozenset("b"), frozenset("a")], "t1": [frozenset("b"), frozenset("b")]}
    topics = ["t0", "t1"]
    members = {"c0": MemberSubscription(topics, rack_id="a"), "c1": MemberSubscription(topics, rack_id="b")}
    assert assign(Range(), ClusterView({"t0": 2, "t1": 2}, racks), members) == {"c0": "t0-1 t1-1", "c1": "t0-0 t1-0"}


def test_roundrobin_deals_partitions_in_turn() -> None:
    both = MemberSubscription(["t0", "t1"])
    assert assign(RoundRobin(), TWO_TOPICS, {"c0": both, "c1": both}) == {
        "c0": "t0-0 t0-2 t1-1",
        "c1": "t0-1 t1-0 t1-2",
    }


def test_roundrobin_passes_over_members_that_do_not_read_the_topic() -> None:
    """t0-0 to c0; t1-0 to c1; t1-1: c2's turn; t2: c0 and c1 do not read it."""
    cluster = ClusterView({"t0": 1, "t1": 2, "t2": 3})
    members = {
        "c0": MemberSubscription(["t0"]),
        "c1": MemberSubscription(["t0", "t1"]),
        "c2": MemberSubscription(["t0", "t1", "t2"]),
    }
    assert assign(RoundRobin(), cluster, members) == {"c0": "t0-0", "c1": "t1-0", "c2": "t1-1 t2-0 t2-1 t2-2"}


@pytest.mark.parametrize("assignor", [Range(), RoundRobin()])
def test_topics_that_the_cluster_does_not_have_are_left_out(assignor: Assignor) -> None:
    members = {"c0": MemberSubscription(["missing", "t0"]), "c1": MemberSubscription(["missing"])}
    assert assign(assignor, ClusterView({"t0": 1}), members) == {"c0": "t0-0", "c1": ""}


def owning(
    text: str, *, topics: Sequence[str] = ("t0",), generation: int = 1, rack: str | None = None
) -> MemberSubscription:
    """A member of "cooperative-sticky" that owns "topic-partition"s with spaces between."""
    owned = [TopicPartition(name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in text.split()]
    return MemberSubscription(topics, None, owned, generation, rack)


def test_sticky_members_keep_what_they_have_up_to_an_even_share() -> None:
    """Five partitions, two members: c0 keeps three of its four, c1 gets the one that is free."""
    members = {"c0": sticky_member("t0-0 t0-1 t0-2 t0-3"), "c1": sticky_member("")}
    assert assign(Sticky(), ClusterView({"t0": 5}), members) == {"c0": "t0-0 t0-1 t0-2", "c1": "t0-3 t0-4"}


def sticky_member(text: str, generation: int = 1) -> MemberSubscription:
    """A member of "sticky" whose last assignment was this one."""
    mine = Sticky()
    mine.on_assignment(Assignment(owning(text).owned_partitions), generation)
    return MemberSubscription(["t0"], mine.user_data(["t0"]))


def test_cooperative_members_give_up_first() -> None:
    """c1 is to have t0-3, which c0 owns: nobody gets it now, and c1 gets it once c0 has given it up."""
    cluster = ClusterView({"t0": 4})
    before = {"c0": owning("t0-0 t0-1 t0-2 t0-3"), "c1": owning("")}
    assert assign(CooperativeSticky(), cluster, before) == {"c0": "t0-0 t0-1", "c1": ""}
    after = {"c0": owning("t0-0 t0-1"), "c1": owning("")}
    assert assign(CooperativeSticky(), cluster, after) == {"c0": "t0-0 t0-1", "c1": "t0-2 t0-3"}


def test_the_newer_generation_of_two_owners_counts() -> None:
    """c0 has slept through generation 2, in which its partitions went to c1."""
    members = {"c0": owning("t0-0 t0-1", generation=1), "c1": owning("t0-0 t0-1", generation=2)}
    assert assign(CooperativeSticky(), ClusterView({"t0": 2}), members) == {"c0": "", "c1": "t0-0"}


def test_two_owners_in_one_generation_are_none() -> None:
    """Both have to give t0-0 up before anybody gets it."""
    members = {"c0": owning("t0-0"), "c1": owning("t0-0")}
    assert assign(CooperativeSticky(), ClusterView({"t0": 2}), members) == {"c0": "", "c1": "t0-1"}


def test_sticky_shares_are_even_among_those_that_read_a_topic() -> None:
    """c1 alone reads t1; c0 gets all of t0, and c1 none, since t1 alone is as much."""
    members = {"c0": owning(""), "c1": owning("", topics=("t0", "t1"))}
    cluster = ClusterView({"t0": 3, "t1": 3})
    assert assign(CooperativeSticky(), cluster, members) == {"c0": "t0-0 t0-1 t0-2", "c1": "t1-0 t1-1 t1-2"}


def test_sticky_members_give_up_what_is_in_another_rack() -> None:
    """Each owns the partition that is near the other one."""
    cluster = ClusterView({"t0": 2}, {"t0": [frozenset("a"), frozenset("b")]})
    members = {"c0": owning("t0-1", rack="a"), "c1": owning("t0-0", rack="b")}
    assert assign(CooperativeSticky(), cluster, members) == {"c0": "", "c1": ""}
    members = {"c0": owning("", rack="a"), "c1": owning("", rack="b")}
    assert assign(CooperativeSticky(), cluster, members) == {"c0": "t0-0", "c1": "t0-1"}


@pytest.mark.parametrize("said", ["00", "7fffffff", "00000001 0002 7430 00000001"])
def test_user_data_that_cannot_be_read_counts_as_nothing(said: str) -> None:
    members = {"c0": MemberSubscription(["t0"], bytes.fromhex(said)), "c1": sticky_member("t0-0")}
    assert assign(Sticky(), ClusterView({"t0": 2}), members) == {"c0": "t0-1", "c1": "t0-0"}


def test_user_data_without_a_generation_is_read() -> None:
    """v0 of the user data of "sticky": one topic, t0, with the partition 1."""
    older = bytes.fromhex("00000001 0002 7430 00000001 00000001")
    members = {"c0": MemberSubscription(["t0"], older), "c1": MemberSubscription(["t0"])}
    assert assign(Sticky(), ClusterView({"t0": 2}), members) == {"c0": "t0-1", "c1": "t0-0"}


def test_owned_partitions_that_do_not_exist_are_left_out() -> None:
    members = {"c0": owning("t0-7 gone-0 t0-1"), "c1": owning("")}
    assert assign(CooperativeSticky(), ClusterView({"t0": 2}), members) == {"c0": "t0-1", "c1": "t0-0"}


def test_a_view_has_the_racks_of_all_replicas_that_are_known() -> None:
    metadata = Metadata()
    rows = [PartitionInfo(n, -1, -1, replicas, [], 0) for n, replicas in enumerate([[1, 2], [2, 3], []])]
    metadata.topics = {"t0": TopicInfo("t0", no_uuid(), False, 0, {row.partition: row for row in rows})}
    metadata.racks = {1: "a", 2: "b"}
    view = ClusterView.of(metadata, ["t0", "missing"])
    assert view.partitions("t0") == (("t0", 0), ("t0", 1), ("t0", 2))
    assert view.racks("t0") == (frozenset("ab"), frozenset("b"), frozenset())
    assert (view.partitions("missing"), view.racks("missing")) == ((), ())


def test_blobs_of_every_version() -> None:
    said = MemberSubscription(("t0",), b"x", [TopicPartition("t0", 1)], 7, "a", "i")
    read = [decode_subscription(encode_subscription(said, version), "i") for version in range(4)]
    assert read == [
        said._replace(owned_partitions=[], generation=-1, rack_id=None),
        said._replace(generation=-1, rack_id=None),
        said._replace(rack_id=None),
        said,
    ]
    newer = b"\x00\x09" + encode_subscription(said)[2:] + b"more"
    assert decode_subscription(newer, "i") == said
    assigned = Assignment([TopicPartition("t1", 1), TopicPartition("t0", 0), TopicPartition("t1", 0)], b"x")
    in_order = [TopicPartition("t1", 1), TopicPartition("t1", 0), TopicPartition("t0", 0)]
    assert decode_assignment(encode_assignment(assigned)) == (in_order, b"x")


def test_java_hashes_and_orders() -> None:
    """The letter a is 97, and ab 97 * 31 + 98; of 16 bins p (112) is in bin 0, a and q in 1, b in 2.

    U+10000 is written as a surrogate pair and so stands before U+FFFF.
    """
    assert (string_hash("a"), string_hash("ab")) == (97, 3105)
    assert string_hash("\U00010000") == 0xD800 * 31 + 0xDC00
    assert text_order(["\uffff", "\U00010000"]) == ["\U00010000", "\uffff"]
    assert hash_order(["b", "a", "q", "p"]) == ["p", "a", "q", "b"]


class Everything(Assignor):
    """Gives all to the first member; says cooperative and does not keep to it."""

    name = "everything"
    protocols = ("cooperative",)

    def assign(
        self, cluster: ClusterView, members: Mapping[str, MemberSubscription]
    ) -> dict[str, Sequence[TopicPartition]]:
        first = min(members)
        return {first: [TopicPartition("t0", n) for n in range(cluster.partition_count("t0"))]}


def test_a_program_may_bring_its_own_assignor() -> None:
    mine = assignors_of([Everything()])
    assert mine.cooperative
    [(name, metadata)] = mine.metadata(["t0"], [], -1, None)
    rows = [("m1", None, metadata), ("m0", None, metadata)]
    assert mine.subscribed_topics(rows) == {"t0"}
    results = mine.assign(name, TWO_TOPICS, rows)
    assert mine.assigned(name, results["m0"], 1) == [TopicPartition("t0", n) for n in range(3)]
    assert mine.assigned(name, results["m1"], 1) == []


def test_a_cooperative_assignor_may_not_move_what_is_still_owned() -> None:
    mine = assignors_of([Everything()])
    [(name, without)] = mine.metadata(["t0"], [], 1, None)
    [(_, owning)] = mine.metadata(["t0"], [TopicPartition("t0", 1)], 1, None)
    with pytest.raises(KafkaError, match="'everything' is cooperative and yet assigned t0-1"):
        mine.assign(name, TWO_TOPICS, [("m0", None, without), ("m1", None, owning)])


def test_strategies_are_names_or_objects() -> None:
    assert assignors_of(("range", "roundrobin")).names == ("range", "roundrobin")
    assert assignors_of("range").names == ("range",)
    assert assignors_of(RoundRobin()).names == ("roundrobin",)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("rnge", "'rnge' is not an assignor: range, roundrobin, sticky, cooperative-sticky"),
        (["range", Range()], "the assignor 'range' is listed twice"),
        ([], "no assignor"),
        ([3], "3 is neither a name nor an object"),
        (["range", Everything()], "range, everything have no rebalance protocol in common"),
    ],
)
def test_strategies_that_are_refused(strategy: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assignors_of(strategy)


def test_metadata_that_cannot_be_read_is_refused_with_its_field() -> None:
    mine = assignors_of("range")
    with pytest.raises(CodecError, match="topics"):
        mine.assign("range", TWO_TOPICS, [("m0", None, b"\x00\x03\x00\x00")])
    with pytest.raises(CodecError, match="version -1"):
        mine.assigned("range", b"\xff\xff", 1)


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_members_that_claim_the_same_partitions_cost_no_more_than_others(name: str) -> None:
    """In any order: a foreign member decides on that, and the group waits for its leader."""
    count, rows = 16_000, []
    sticky, consumer = group_blobs.StickyAssignorUserData, group_blobs.ConsumerProtocolSubscription
    for member, numbers in (("a", range(count)), ("b", reversed(range(count)))):
        claimed = list(numbers)
        said = sticky(previous_assignment=[sticky.TopicPartition(topic="t", partitions=claimed)], generation=5)
        owned = [consumer.TopicPartition(topic="t", partitions=claimed)]
        subscription = consumer(topics=["t"], user_data=said.encode(1), owned_partitions=owned, generation_id=5)
        rows.append((member, None, subscription.to_blob(3)))
    begun = time.thread_time()
    found = assignors_of(name).assign(name, ClusterView({"t": count}), rows)
    assert time.thread_time() - begun < 1.0
    assert sum(len(decode_assignment(blob).partitions) for blob in found.values()) <= count
