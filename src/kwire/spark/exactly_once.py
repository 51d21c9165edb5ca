"""Exactly once: whose transactions are which, what a task tells the driver, and how a decision is stored.

Two phases. Each task writes in a transaction of its own and leaves it open; the driver decides which of them are the
batch, in one transaction of its own that commits their names as offsets of a consumer group, and then ends them.

    names, with `scope` = {transactionalIdPrefix}-{query id}, or ...-batch for a batch write
    scope                              transactional id of the driver, and the group that holds the decision
    scope-{run}-{worker}-{number}      transactional id of a task: run of the query, worker process, transaction in it

    a task's transaction   is left by                                       if everything dies here
    OPEN                   flush, and the producer lets go of it: PREPARED  undecided
    PREPARED               the driver's commit names it: DECIDED            undecided
                           the driver's commit or abort does not: ABORTED
    DECIDED                EndTxn(commit): COMMITTED                        the batch runs again: its commit ends
                                                                            these and aborts what was written now
                           its time-out: LOST                               an error at each commit of that batch
    undecided              the next commit of the query: ABORTED            the same, or its time-out

    the driver's steps in commit(run, batch)                        what another driver at work at the same time sees
    1 fence     InitProducerId of the driver's id                   its decision, if it is not committed, never will be
    2 read      the group's offsets, stable ones                    the last decision, for certain: no other can follow
    3 judge     see `judge`                                         of two drivers one decides; the other learns it
    4 list      what is open in the scope and not of this batch     strays: nothing after this batch has begun by now
    5 verify    each is open under its id and epoch, with time left a batch that is too late fails before it is decided
    6 decide    TxnOffsetCommit and EndTxn of the driver's id       one of them is fenced; repeated until it is known
    7 finish    EndTxn(commit) of each, with its id and epoch       repeated by anyone, to the same result
    8 sweep     EndTxn(abort) of the strays, with id and epoch      nothing else can have that id and epoch

A run that some decision was made without, or against, is over: the decision lists it in `ended_runs`, so that a driver
that was thought dead stops at step 3, before it decides on transactions that step 8 of another has aborted.

A transactional id is used again only by the same process, for a later batch of the same run: Spark begins that one
after commit() of the batch before it has returned. So no task ever fences a transaction that may be decided.

abort() does 1 to 3 first, too: Spark calls it after a commit() that failed, whose decision may stand.

Pure: no socket, no Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kwire._prepared import PreparedTransaction
from kwire.errors import KafkaError

MAX_METADATA: Final = 4000
"""Characters of one offset's metadata: brokers take offset.metadata.max.bytes, 4096 unless set."""

_MAX_ENDED_RUNS: Final = 16
_ROOM_FOR_PARTS: Final = 20
_FORMAT: Final = 1
_TASK: Final = re.compile(r"([0-9a-f-]{36})-[0-9a-f]{12}-\d+")


class ExactlyOnceError(KafkaError):
    """A batch that cannot be committed exactly once; the text says what became of it, and what to do."""


@dataclass(frozen=True)
class Job:
    """What a task works for: a batch of one run of a query, or a batch write (`batch` is None then)."""

    scope: str
    run: str
    batch: int | None = None

    def name_of(self, worker: str, number: int) -> str:
        """The transactional id of a task."""
        return f"{self.scope}-{self.run}-{worker}-{number}"

    def run_of(self, transactional_id: str) -> str | None:
        """The run whose task has that transactional id; None where it is not of this scope."""
        found = _TASK.fullmatch(transactional_id.removeprefix(f"{self.scope}-"))
        return None if found is None else found[1]

    def __str__(self) -> str:
        what = "the batch write" if self.batch is None else f"batch {self.batch} of run"
        return f"{what} {self.run} in {self.scope!r}"


@dataclass(frozen=True)
class Decision:
    """What a driver has decided last, by its run, which owns it. The tasks that wrote were those of run `writers`.

    `number` counts the decisions of a scope. `topic` is where the offsets stand that hold it.
    """

    number: int
    run: str
    batch: int | None
    rows: int
    writers: str
    transactions: tuple[PreparedTransaction, ...]
    ended_runs: tuple[str, ...] = ()
    topic: str = field(default="", compare=False)

    def taken_over(self, run: str) -> Decision:
        """The same, owned by another run."""
        return replace(self, number=self.number + 1, run=run, ended_runs=_ended(self, [], run))


def decide(
    last: Decision | None, job: Job, rows: int, transactions: Iterable[PreparedTransaction], other_runs: Iterable[str]
) -> Decision:
    """The decision that follows on `last`, and ends the other runs."""
    return Decision(
        number=0 if last is None else last.number + 1,
        run=job.run,
        batch=job.batch,
        rows=rows,
        writers=job.run,
        transactions=tuple(transactions),
        ended_runs=_ended(last, other_runs, job.run),
    )


def _ended(last: Decision | None, others: Iterable[str], run: str) -> tuple[str, ...]:
    before = () if last is None else (*last.ended_runs, last.run)
    return tuple(each for each in dict.fromkeys([*before, *others]) if each != run)[-_MAX_ENDED_RUNS:]


def judge(last: Decision | None, job: Job) -> bool:
    """Whether the batch has been decided. Raises ExactlyOnceError for a run or a checkpoint whose time is over."""
    if last is None:
        return False
    if job.run in last.ended_runs:
        raise ExactlyOnceError(
            f"{job} is not committed: run {last.run} has taken over. One query or write at a time may use a "
            "transactionalIdPrefix, and a checkpoint"
        )
    if job.batch is None or last.batch is None:
        return last.run == job.run
    if last.batch > job.batch:
        raise ExactlyOnceError(
            f"{job} is not committed: batch {last.batch} was already. Another query has gone on with this checkpoint, "
            "or it has been set back: to write these rows again choose another transactionalIdPrefix, else start from "
            "the newer checkpoint"
        )
    return last.batch == job.batch


# -- a decision as offsets ---------------------------------------------------------------------------------------------
# Part 0 has the rest of the decision, each part some of the transactions. Place n is partition n % width of the topic,
# in group number n // width of the scope. What an earlier, longer decision left at later places is not looked at.


def group_of(scope: str, place: int, width: int) -> str:
    """The group whose offsets have that place."""
    number = place // width
    return scope if number == 0 else f"{scope}-{number}"


def encode(decision: Decision, job: Job, width: int) -> list[str]:
    """A text of at most MAX_METADATA characters for each place, from 0 on."""
    head = {
        "kwire": _FORMAT,
        "number": decision.number,
        "run": decision.run,
        "batch": decision.batch,
        "rows": decision.rows,
        "writers": decision.writers,
        "ended": decision.ended_runs,
        "width": width,
    }
    prefix = f"{job.scope}-{decision.writers}-"
    rows = [[name.removeprefix(prefix), *rest] for name, *rest in decision.transactions]
    parts: list[list[list[Any]]] = []
    room = 0
    for row in [None, *rows]:
        size = len(_text(row)) + 1
        if row is None or size > room:
            parts.append([])
            room = MAX_METADATA - len(
                _text({**(head if row is None else _part_head(decision, len(parts))), "open": []})
            )
            room -= _ROOM_FOR_PARTS
        if row is not None:
            parts[-1].append(row)
            room -= size
    heads = [{**head, "parts": len(parts)}, *(_part_head(decision, at) for at in range(1, len(parts)))]
    return [_text({**head, "open": part}) for head, part in zip(heads, parts, strict=True)]


def _part_head(decision: Decision, at: int) -> dict[str, Any]:
    return {"kwire": _FORMAT, "number": decision.number, "part": at}


def parts_and_width(first: str) -> tuple[int, int]:
    """How many places the decision has that begins so, and its width."""
    head = parsed(first)
    return head["parts"], head["width"]


def decode(texts: Sequence[str], job: Job, topic: str) -> Decision:
    """The decision that `encode` made these of."""
    head, *others = [parsed(text) for text in texts]
    for at, part in enumerate(others, 1):
        if (part.get("number"), part.get("part")) != (head["number"], at):
            raise ExactlyOnceError(f"the offsets of group {job.scope!r} in {topic!r} are not those of one decision")
    prefix = f"{job.scope}-{head['writers']}-"
    rows = [row for part in (head, *others) for row in part["open"]]
    return Decision(
        number=head["number"],
        run=head["run"],
        batch=head["batch"],
        rows=head["rows"],
        writers=head["writers"],
        transactions=tuple(PreparedTransaction(prefix + row[0], *row[1:]) for row in rows),
        ended_runs=tuple(head["ended"]),
        topic=topic,
    )


def parsed(text: str) -> dict[str, Any]:
    """One part. Raises ExactlyOnceError for the metadata of somebody else's offset."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("kwire") != _FORMAT:
        raise ExactlyOnceError(
            f"an offset has the metadata {text[:60]!r}, which no decision has: the group is used for something else"
        )
    return found


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
