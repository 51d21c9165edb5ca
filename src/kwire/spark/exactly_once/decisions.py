"""Exactly once: whose transactions are which, what a task tells the driver, and how a decision is stored.

Two phases. Each task writes in a transaction of its own and leaves it open; the driver decides which of them are the
batch, in one transaction of its own that commits their names as offsets of a consumer group, and then ends them.

    names, with `scope` = {transactionalIdPrefix}-{query id}, or ...-batch for a batch write
    scope                              transactional id of the driver, and the group that holds the decision
    scope-{run}-{worker}-{number}      transactional id of a stream's task: run of the query, worker process, number
    scope-{worker}-{number}            transactional id of a task of a batch write

    a task's transaction   is left by                                       if everything dies here
    OPEN                   flush, and the producer lets go of it: PREPARED  undecided
    PREPARED               the driver's commit names it: DECIDED            undecided
                           the driver's commit or abort does not: ABORTED
    DECIDED                EndTxn(commit): COMMITTED                        the batch runs again: its commit ends
                                                                            these and aborts what else is open
                           its time-out: LOST                               an error at each commit of that batch
    undecided              the next commit of the query: ABORTED            the same, or its time-out

    the task's steps
    1 look up   which ids of its process are free (of a batch write), and the last decision
    2 begin     InitProducerId, unless its batch is decided: then it writes nothing
    3 write     and wait until each row is acknowledged
    4 detach    the transaction stays open
    5 look up   the last decision: if the batch is decided, EndTxn(abort) of its own; nobody will ask for it

    the driver's steps in commit(run, batch)                        what another driver at work at the same time sees
    1 fence     InitProducerId of the driver's id                   its decision, if it is not committed, never will be
    2 read      the group's offsets, stable ones                    the last decision, for certain: no other can follow
    3 judge     see `judge` and `check_undisturbed`                 of two drivers one decides; the other learns it
    4 list      what is open in the scope and not of this batch     strays: nothing after this batch has begun by now
    5 verify    each is open under its id and epoch, with time left a batch that is too late fails before it is decided
    6 decide    TxnOffsetCommit and EndTxn of the driver's id       one of them is fenced; repeated until it is known
    7 finish    EndTxn(commit) of each, with its id and epoch       repeated by anyone, to the same result
    8 sweep     EndTxn(abort) of the strays, with id and epoch      nothing else can have that id and epoch

Who has listed a transaction as a stray, and has decided, will abort it in step 8, however late. So no driver may decide
on it afterwards. Of a stream the names tell the runs of the strays, and the decision lists them in `ended_runs`: a
driver that was thought dead stops at step 3. The names of batch writes tell no run. There a task says which decision
was the last before its transaction was opened, and its driver stops if another has been made since.

A transactional id is used again only by the same process. Of a stream for a later batch of the same run: Spark begins
that one after commit() of the batch before it has returned. Of a batch write when its last transaction is known to be
over, and was not named by the last decision: step 7 of that one may still be repeated, and must find the epoch that it
knows. (The next write does so before it decides.) So no task ever fences a transaction that may be decided.

abort() does 1 to 3 first, too: Spark calls it after a commit() that failed, whose decision may stand. Of a batch write
it then decides that nothing is written, so that it may sweep strays.

Pure: no socket, no Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kwire._prepared import PreparedTransaction
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError

MAX_METADATA: Final = 4000
"""Characters of one offset's metadata: brokers take offset.metadata.max.bytes, 4096 unless set."""

NO_DECISION: Final = -1
"""The number of the last decision where there is none."""

_MAX_ENDED_RUNS: Final = 16
_ROOM_FOR_PARTS: Final = 20
_FORMAT: Final = 1
_OF_ALL: Final[dict[str, tuple[type, ...]]] = {"number": (int,), "open": (list,)}
_OF_OTHERS: Final = {**_OF_ALL, "part": (int,)}
_OF_THE_FIRST: Final = {
    **_OF_ALL, "run": (str,), "batch": (int, type(None)), "rows": (int,), "writers": (str,), "ended": (list,),
    "width": (int,), "parts": (int,),
}  # fmt: skip
_OF_A_ROW: Final = (str, int, int, int)
_TASK: Final = re.compile(r"(?:([0-9a-f-]{36})-)?[0-9a-f]{12}-\d+")


class ExactlyOnceError(KafkaError):
    """A batch that cannot be committed exactly once; the text says what became of it, and what to do."""


@dataclass(frozen=True)
class Job:
    """What a task works for: a batch of one run of a query, or a batch write (`batch` is None then)."""

    scope: str
    run: str
    batch: int | None = None

    @property
    def writers(self) -> str:
        """The run that is in the transactional ids of its tasks; empty where none is."""
        return "" if self.batch is None else self.run

    def name_of(self, worker: str, number: int) -> str:
        """The transactional id of a task."""
        return f"{_prefix(self.scope, self.writers)}{worker}-{number}"

    def is_name(self, transactional_id: str) -> bool:
        """Whether a task of this scope, of whatever run, has that transactional id."""
        return self._matched(transactional_id) is not None

    def run_of(self, transactional_id: str) -> str | None:
        """The run that is in the transactional id of a task of this scope."""
        found = self._matched(transactional_id)
        return None if found is None else found[1]

    def _matched(self, transactional_id: str) -> re.Match[str] | None:
        return _TASK.fullmatch(transactional_id.removeprefix(f"{self.scope}-"))

    def __str__(self) -> str:
        what = "the batch write" if self.batch is None else f"batch {self.batch} of run"
        return f"{what} {self.run} in {self.scope!r}"


@dataclass(frozen=True)
class Decision:
    """What a driver has decided last, by its run, which owns it. `writers` is the run in the names of the tasks that
    wrote, if there is one.

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

    def is_over(self, job: Job) -> bool:
        """Whether what a task of this job has not told yet will never be decided on."""
        if job.run in self.ended_runs:
            return True
        if job.batch is None or self.batch is None:
            return self.run == job.run
        return self.batch >= job.batch

    def taken_over(self, run: str, other_runs: Iterable[str]) -> Decision:
        """The same, owned by another run, which ends the other ones."""
        return replace(self, number=self.number + 1, run=run, ended_runs=_ended(self, other_runs, run))


def decide(
    last: Decision | None, job: Job, rows: int, transactions: Iterable[PreparedTransaction], other_runs: Iterable[str]
) -> Decision:
    """The decision that follows on `last`, and ends the other runs."""
    return Decision(
        number=0 if last is None else last.number + 1,
        run=job.run,
        batch=job.batch,
        rows=rows,
        writers=job.writers,
        transactions=tuple(transactions),
        ended_runs=_ended(last, other_runs, job.run),
    )


def _ended(last: Decision | None, others: Iterable[str], run: str) -> tuple[str, ...]:
    before = () if last is None else (*last.ended_runs, last.run)
    return tuple(each for each in dict.fromkeys([*before, *others]) if each != run)[-_MAX_ENDED_RUNS:]


def judge(last: Decision | None, job: Job) -> bool:
    """Whether the batch has been decided. Raises ExactlyOnceError for a run or a checkpoint that was replaced."""
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


def check_undisturbed(last: Decision | None, job: Job, seen: Iterable[int]) -> None:
    """Raises ExactlyOnceError where not all tasks of a batch write had seen the last decision when they began."""
    number = NO_DECISION if last is None else last.number
    if job.batch is None and any(each != number for each in seen):
        by_whom = "the last one is gone" if last is None else f"run {last.run} has taken over"
        raise ExactlyOnceError(
            f"{job} is not committed: {by_whom}. One write at a time may use a transactionalIdPrefix"
        )


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
    prefix = _prefix(job.scope, decision.writers)
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


def find_last(stored: Mapping[TopicPartition, str]) -> str | None:
    """The topic whose offsets, those of the group at place 0, begin the last decision."""
    rows = {tp: parsed(text) for tp, text in stored.items()}
    numbers = {tp.topic: row["number"] for tp, row in rows.items() if "parts" in row and tp.partition == 0}
    return max(numbers, key=lambda topic: numbers[topic]) if numbers else None


def parts_and_width(first: str) -> tuple[int, int]:
    """How many places the decision has that begins so, and its width."""
    head = parsed(first)
    return head["parts"], head["width"]


def decode(texts: Sequence[str], job: Job, topic: str) -> Decision:
    """The decision that `encode` made these of."""
    head, *others = [parsed(text) for text in texts]
    for at, part in enumerate(others, 1):
        if (part["number"], part.get("part")) != (head["number"], at):
            raise not_of_one(job, topic)
    prefix = _prefix(job.scope, head["writers"])
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


def not_of_one(job: Job, topic: str) -> ExactlyOnceError:
    """For parts that do not belong together, or are not all there."""
    return ExactlyOnceError(f"the offsets of group {job.scope!r} in {topic!r} are not those of one decision")


def parsed(text: str) -> dict[str, Any]:
    """One part. Raises ExactlyOnceError for the metadata of somebody else's offset."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("kwire") != _FORMAT or not _is_part(found):
        raise ExactlyOnceError(
            f"an offset has the metadata {text[:60]!r}, which no decision has: the group is used for something else"
        )
    return found


def _is_part(found: Mapping[str, Any]) -> bool:
    is_first = "parts" in found
    kinds = _OF_THE_FIRST if is_first else _OF_OTHERS
    if not all(name in found and type(found[name]) in kinds[name] for name in kinds):
        return False
    if is_first and (min(found["parts"], found["width"]) < 1 or not all(type(run) is str for run in found["ended"])):
        return False
    return all(type(row) is list and tuple(map(type, row)) == _OF_A_ROW for row in found["open"])


def _prefix(scope: str, writers: str) -> str:
    return f"{scope}-{writers}-" if writers else f"{scope}-"


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
