"""Judges a history by what Kafka's clients promise. Imports nothing of kwire, and knows no more than the history
and what the topics hold in the end.

A rule is a generator of what it finds wrong. Where a schedule turned bits that no checksum covers (`damaged`), only the
rules of `ALWAYS` hold: what the cluster was told is then not what the clients said.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.chaos.history import Event

Log = list[tuple[int, str]]
"""Offsets and values of one partition, as a reader of committed records sees them."""

GRACE_S = 1.0
NEVER = {"ConcurrentUseError", "ClientClosedError", "ConfigError", "UnsupportedError", "TransactionStateError"}
DAMAGE = {"CorruptError", "TruncatedError", "InvalidLengthError", "UnknownCodecError", "UnknownVersionError"}
"""Errors that programs which do nothing wrong are never to see; the second, as long as no bit is turned."""


@dataclass(slots=True)
class Evidence:
    """All that is judged: events in the order of time, the final topics, the groups' final positions, and how many
    records of a partition share groups have not done with."""

    events: list[Event]
    topics: dict[str, dict[int, Log]]
    positions: dict[tuple[str, str, int], int] = field(default_factory=dict)
    lags: dict[tuple[str, str, int], int] = field(default_factory=dict)
    damaged: bool = False

    def of(self, *names: str) -> list[Event]:
        """The events with these names."""
        return [event for event in self.events if event["event"] in names]

    def values(self, topic: str) -> Counter[str]:
        """How often each value is in a topic."""
        return Counter(value for log in self.topics[topic].values() for _, value in log)

    def settings(self, key: str) -> set[tuple[str, str, str]]:
        """(group or role, topic, setting) of clients that have this setting."""
        started = [event for event in self.of("started") if key in event]
        return {(event.get("group", event["role"]), event["topic"], str(event[key])) for event in started}


Rule = Callable[[Evidence], Iterator[str]]


def judge(evidence: Evidence) -> list[str]:
    """What is wrong, each with the name of its rule; at most five of a rule."""
    rules = ALWAYS if evidence.damaged else ALWAYS + RULES
    found = []
    for rule in rules:
        wrong = list(rule(evidence))
        found += [f"{rule.__name__}: {each}" for each in wrong[:5]]
        found += [f"{rule.__name__}: and {len(wrong) - 5} more"] if len(wrong) > 5 else []
    return found


def acknowledged_once(evidence: Evidence) -> Iterator[str]:
    """A record that was acknowledged is in its partition at its offset, and no record of a writer is there twice."""
    transacted = {event["topic"] for event in evidence.of("transaction")}
    logs = _by_offset(evidence)
    for event in evidence.of("delivered"):
        found = logs[event["topic"]].get(event["partition"], {}).get(event["offset"])
        if event["topic"] not in transacted and found != event["value"]:
            yield f"{event['value']!r} was acknowledged at {_place(event)} {event['offset']}, where {found!r} is"
    for topic in {event["topic"] for event in evidence.of("sent")}:
        for value, count in evidence.values(topic).items():
            if count > 1:
                yield f"{value!r} is {count} times in {topic}"


def in_order(evidence: Evidence) -> Iterator[str]:
    """The records of one producer are in each partition in the order in which they were sent."""
    sent: dict[tuple[str, int], list[str]] = defaultdict(list)
    writers: dict[str, str] = {}
    for event in evidence.of("sent"):
        sent[event["topic"], event["partition"]].append(event["value"])
        writers[event["value"]] = event["who"]
    for (topic, partition), values in sent.items():
        number = {value: place for place, value in enumerate(values)}
        last: dict[str, str] = {}
        for _, value in evidence.topics[topic].get(partition, []):
            if value not in number:
                continue
            before = last.get(writers[value])
            if before is not None and number[before] > number[value]:
                yield f"{topic}-{partition} has {value!r} after {before!r}"
            last[writers[value]] = value


def only_what_was_sent(evidence: Evidence) -> Iterator[str]:
    """What a consumer was handed out is in the final topic at that offset."""
    logs = _by_offset(evidence)
    for event in evidence.of("handed_out"):
        log = logs[event["topic"]].get(event["partition"], {})
        for offset, value in event["records"]:
            if log.get(offset) != value:
                yield f"{event['who']} got {value!r} of {_place(event)} {offset}, where {log.get(offset)!r} is"


def intact(evidence: Evidence) -> Iterator[str]:
    """A value that was handed out is one that somebody sent, whatever happened on the way."""
    sent = {event["value"] for event in evidence.of("sent")}
    for event in evidence.of("handed_out"):
        for offset, value in event["records"]:
            if value not in sent:
                yield f"{event['who']} got {value!r} of {_place(event)} {offset}, which nobody sent"


def nothing_lost(evidence: Evidence) -> Iterator[str]:
    """Every record of a group's topic was handed out to one of its members."""
    seen: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for event in evidence.of("handed_out"):
        seen[event["group"], event["topic"], event["partition"]].update(offset for offset, _ in event["records"])
    for group, topic, _ in evidence.settings("group"):
        for partition, log in evidence.topics[topic].items():
            missing = [offset for offset, _ in log if offset not in seen[group, topic, partition]]
            if missing:
                yield f"{group} never got {len(missing)} of {len(log)} records of {topic}-{partition}: {missing[:10]}"


def commits_follow_hand_outs(evidence: Evidence) -> Iterator[str]:
    """Every record below a position that was committed had been handed out to a member before."""
    left = {
        (group, topic, partition): [offset for offset, _ in reversed(log)]
        for group, topic, _ in evidence.settings("group")
        for partition, log in evidence.topics[topic].items()
    }
    seen: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for event in evidence.of("handed_out", "committing"):
        if event["event"] == "handed_out":
            seen[event["group"], event["topic"], event["partition"]].update(offset for offset, _ in event["records"])
            continue
        for partition, position in _positions(event):
            key = event["group"], event["topic"], partition
            skipped = []
            while left.get(key) and left[key][-1] < position:
                offset = left[key].pop()
                skipped += [offset] if offset not in seen[key] else []
            if skipped:
                yield f"{event['who']} commits {position} of {_of(key)}, and {skipped[:10]} were never handed out"
    for key, position in evidence.positions.items():
        skipped = [offset for offset in left.get(key, []) if offset < position and offset not in seen[key]]
        if skipped:
            yield f"{_of(key)} ends at {position}, and {sorted(skipped)[:10]} were never handed out"


def commits_never_go_back(evidence: Evidence) -> Iterator[str]:
    """A commit that begins when another has ended is of no lower position; nor is the position in the end."""
    highest: dict[tuple[str, str, int], int] = {}
    asked: dict[str, tuple[Event, dict[tuple[str, str, int], int]]] = {}
    for event in evidence.of("committing", "committed"):
        if event["event"] == "committing":
            asked[event["commit"]] = event, dict(highest)
            continue
        begun, before = asked[event["commit"]]
        for partition, position in _positions(begun):
            key = begun["group"], begun["topic"], partition
            if position < before.get(key, 0):
                yield f"{event['who']} committed {position} of {_of(key)} after {before[key]}"
            highest[key] = max(position, highest.get(key, 0))
    for key, position in highest.items():
        if evidence.positions and evidence.positions.get(key, -1) < position:
            yield f"{_of(key)} ends at {evidence.positions.get(key)} after a commit of {position}"


def copied_once(evidence: Evidence) -> Iterator[str]:
    """A copy in transactions has each record of its source once, in the same partition and order."""
    for _, source, target in evidence.settings("target"):
        for partition, log in evidence.topics[source].items():
            wanted = [value for _, value in log]
            found = [value for _, value in evidence.topics[target].get(partition, [])]
            if wanted == found:
                continue
            lost = Counter(wanted) - Counter(found)
            doubled = Counter(found) - Counter(wanted)
            what = f"{lost.total()} lost {list(lost)[:3]}, {doubled.total()} too many {list(doubled)[:3]}"
            yield f"{source}-{partition} of {len(wanted)} records: {what if lost or doubled else 'in another order'}"


def all_or_nothing(evidence: Evidence) -> Iterator[str]:
    """Of a transaction all records are there or none: as its end said, where it said anything."""
    outcomes = {event["transaction"]: event["outcome"] for event in evidence.of("resolved")}
    transactions = evidence.of("transaction")
    in_topic = {topic: evidence.values(topic) for topic in {event["topic"] for event in transactions}}
    for event in transactions:
        values = in_topic[event["topic"]]
        there = sum(1 for value in event["values"] if values[value])
        outcome = outcomes.get(event["transaction"])
        allowed = {"committed": {len(event["values"])}, "aborted": {0}}.get(str(outcome), {0, len(event["values"])})
        if there not in allowed:
            what = f"{event['transaction']} ({outcome or 'no outcome'})"
            yield f"{what} has {there} of its {len(event['values'])} records in {event['topic']}"


def final_once_accepted(evidence: Evidence) -> Iterator[str]:
    """What a share group has accepted is not handed out again."""
    accepted: set[tuple[str, str, int, int]] = set()
    for event in evidence.of("accepted", "handed_out"):
        key = event["group"], event["topic"], event["partition"]
        if event["event"] == "accepted":
            accepted.update((*key, offset) for offset in event["offsets"])
            continue
        again = [offset for offset, _ in event["records"] if (*key, offset) in accepted]
        if again:
            yield f"{event['who']} got {again[:10]} of {_of(key)} after they had been accepted"


def nothing_unaccepted_lost(evidence: Evidence) -> Iterator[str]:
    """What was handed out last to a member of a share group that did not accept it is handed out again: so in the end
    there is nothing of that kind, and the group is done with all records."""
    held: dict[tuple[str, str, int], dict[int, str]] = defaultdict(dict)
    groups = {event["group"] for event in evidence.of("started") if event["role"] == "sharer"}
    for event in evidence.of("handed_out", "accepting", "accepted"):
        if event["group"] not in groups:
            continue
        holders = held[event["group"], event["topic"], event["partition"]]
        if event["event"] == "handed_out":
            holders.update((offset, event["who"]) for offset, _ in event["records"])
            continue
        for offset in event["offsets"]:
            if event["event"] == "accepted" or holders.get(offset) == event["who"]:
                holders.pop(offset, None)
    for key, holders in held.items():
        if holders:
            yield f"{_of(key)}: {sorted(holders.items())[:10]} had {len(holders)} records last and did not accept them"
    for key, lag in evidence.lags.items():
        if lag:
            yield f"{_of(key)}: {lag} records are not done"


def in_time(evidence: Evidence) -> Iterator[str]:
    """A call returns, and a delivery is known, within its time; stops of its process and of the machine apart."""
    ends: dict[tuple[str, object], float] = {}
    waited: dict[tuple[str, object], float] = {}
    gone: dict[str, float] = {}
    for event in evidence.of("ended", "delivered", "failed", "killed", "exited"):
        if event["event"] in ("killed", "exited"):
            gone[event["client"]] = event["t"]
        else:
            key = event["who"], event.get("call", event.get("value"))
            ends[key], waited[key] = event["t"], event.get("waited", 0.0)
    over = max((event["t"] for event in evidence.events), default=0.0)
    pauses = _pauses(evidence)
    for event in evidence.of("begun", "sent"):
        who, within = event["who"], event["within"]
        if within is None:
            continue
        key = who, event.get("call", event.get("value"))
        end = ends.get(key, gone.get(who, over))
        taken = end - event["t"]
        if taken <= within + GRACE_S:
            continue
        excused = waited.get(key, 0.0)
        excused += sum(max(0.0, min(end, till) - max(event["t"], since)) for since, till in pauses[who] + pauses[""])
        if taken - excused > within + GRACE_S:
            what = event.get("name") or f"the delivery of {event['value']!r}"
            yield f"{who}: {what} took {taken:.1f} s of {within:g} at {event['t']:.1f} ({excused:.1f} s excused)"


def errors_of_kwire(evidence: Evidence) -> Iterator[str]:
    """What is raised is an error of the package's own, and never one that blames the program or the broker's bytes."""
    never = NEVER if evidence.damaged else NEVER | DAMAGE
    for event in evidence.events:
        error = event.get("error")
        if error and (not error["own"] or error["type"] in never):
            yield f"{event['who']}: {error['type']}: {error['text']}"


def no_crashes(evidence: Evidence) -> Iterator[str]:
    """A client ends as it is told to, or by its own decision (3), and never by an exception or a crash; nor do the
    children that it forks."""
    for event in evidence.of("exited"):
        if event["code"] not in (0, 3):
            yield f"{event['client']} ended with {event['code']}: {event['tail']}"
    for event in evidence.of("forked"):
        if event["code"]:
            yield f"a child of {event['who']} ended with {event['code']}: {event['does']}"


def _pauses(evidence: Evidence) -> dict[str, list[tuple[float, float]]]:
    """Stops of each client; those of the machine under the empty name."""
    pauses: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in evidence.of("stopped", "late"):
        pauses[event.get("client", "")].append((event["since"], event["until"]))
    return pauses


def _by_offset(evidence: Evidence) -> dict[str, dict[int, dict[int, str]]]:
    """The final topics: value by offset, for each partition."""
    return {topic: {p: dict(log) for p, log in partitions.items()} for topic, partitions in evidence.topics.items()}


def _positions(event: Event) -> list[tuple[int, int]]:
    return [(int(partition), position) for partition, position in event["positions"].items()]


def _place(event: Event) -> str:
    return f"{event['topic']}-{event['partition']}"


def _of(key: tuple[str, str, int]) -> str:
    return f"{key[0]} in {key[1]}-{key[2]}"


ALWAYS: tuple[Rule, ...] = (intact, in_time, errors_of_kwire, no_crashes)
RULES: tuple[Rule, ...] = (
    acknowledged_once,
    in_order,
    only_what_was_sent,
    nothing_lost,
    commits_follow_hand_outs,
    commits_never_go_back,
    copied_once,
    all_or_nothing,
    final_once_accepted,
    nothing_unaccepted_lost,
)
