"""A schedule: which clients run, and which faults begin when. The same seed draws the same schedule."""

import random
from dataclasses import dataclass, replace
from typing import Any, Literal

NODES = (1, 2, 3)
PARTITIONS = 3
"""Of each topic."""
CUTS = {
    "delay": (0.05, 0.4),
    "reset": (0.05, 1.0),
    "half_open": (0.0, 0.0),
    "split": (0.0, 0.0),
    "slow": (2_000.0, 40_000.0),
}
"""Faults of the network, with the range of their amounts."""
_PROCESSES = ("kill_broker", "stop_broker", "kill_client", "stop_client", "move_leaders", "move_coordinators")
_HANGS = ("stop_leader", "stop_coordinator", "stop_share_coordinator")
"""A node hangs that a client's work depends on, whichever that is by then."""
HABITS = {"writer": ("fork",), "member": ("leave", "fork"), "sharer": ("leave", "fork")}
"""What clients of a role may be in the habit of (`habits.py`)."""
_LOGS_IN = 0.3
"""The share of schedules whose clients do: half of them by tokens, half by passwords."""
_FILE_FIRST = 1.0
KINDS = (*CUTS, "flip", *_PROCESSES, *_HANGS, "change_password")

Logins = Literal["", "tokens", "passwords"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Begins `at` seconds after the start and lasts for so many; `node` or `client` suffers, or one from the other.

    The amount is of `delay` the seconds, of `reset` the longest life of a connection, of `slow` the bytes per second,
    of `flip` the share of parts in which a bit is turned, of `stop_leader` the partition; of `change_password` it is 1
    where the clients know it before the brokers do.
    """

    kind: str
    at: float
    lasts: float = 0.0
    node: int | None = None
    client: str | None = None
    amount: float = 0.0

    def __str__(self) -> str:
        words = [f"{self.at:5.1f} s  {self.kind}"]
        words += [f"node {self.node}"] if self.node else []
        words += [f"of {self.client}"] if self.client else []
        words += [f"for {self.lasts:.1f} s"] if self.lasts else []
        words += [f"({self.amount:g})"] if self.amount else []
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Client:
    """A process of `clients.py`: its name, its role, `threads` or `asyncio`, and what else it is told."""

    name: str
    role: str
    form: str
    given: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a seed draws."""

    seed: int
    seconds: float
    clients: tuple[Client, ...]
    faults: tuple[Fault, ...]
    logs_in: Logins
    """Whether its clients log in, and how: by tokens or passwords that are valid for seconds, so again and again."""

    def keeping(self, kept: list[int]) -> "Schedule":
        """The same clients under fewer faults, by their numbers."""
        return replace(self, faults=tuple(self.faults[number] for number in kept))

    @property
    def damages(self) -> bool:
        """Whether bytes are changed that no checksum covers: then nothing is promised of what the cluster keeps."""
        return any(fault.kind == "flip" for fault in self.faults)


def draw(seed: int, seconds: float = 25.0) -> Schedule:
    """One schedule."""
    rng = random.Random(seed)
    clients = _clients(rng)
    if rng.random() < 0.1:
        kinds = ["flip", *rng.choices(tuple(CUTS), k=2)]
    else:
        kinds = rng.choices((*CUTS, *_PROCESSES), k=rng.randint(3, 8))
    faults = [_fault(rng, kind, seconds, [client.name for client in clients]) for kind in kinds]
    if "flip" not in kinds:
        faults += [_hang(rng, seconds, clients) for _ in range(rng.randint(0, 3))]
    logs_in = _logins(rng.random())
    if logs_in == "passwords":
        faults += [_change_of_password(rng, seconds) for _ in range(rng.randint(1, 3))]
    faults.sort(key=lambda fault: fault.at)
    return Schedule(seed, seconds, tuple(clients), tuple(faults), logs_in)


def _logins(drawn: float) -> Logins:
    if drawn >= _LOGS_IN:
        return ""
    return "passwords" if drawn < _LOGS_IN / 2 else "tokens"


def _change_of_password(rng: random.Random, seconds: float) -> Fault:
    at, lasts = round(rng.uniform(1, seconds * 0.8), 1), round(rng.uniform(0.1, 8), 1)
    return Fault("change_password", at, lasts, amount=rng.choice((0.0, _FILE_FIRST)))


def _fault(rng: random.Random, kind: str, seconds: float, clients: list[str]) -> Fault:
    at, lasts = round(rng.uniform(1, seconds * 0.8), 1), round(rng.uniform(1, 8), 1)
    if kind.startswith("move"):
        return Fault(kind, at)
    if kind == "kill_client":
        return Fault(kind, at, client=rng.choice(clients))
    if kind == "stop_client":
        return Fault(kind, at, lasts=round(rng.uniform(1, 12), 1), client=rng.choice(clients))
    if kind.endswith("broker"):
        return Fault(kind, at, lasts, node=rng.choice(NODES))
    node = rng.choice((None, *NODES))
    client = rng.choice((None, *clients)) if node is None or kind == "split" else None
    if node is None and client is None:
        node = rng.choice(NODES)
    low, high = CUTS.get(kind, (0.02, 0.2))
    return Fault(kind, at, lasts, node, client, float(f"{rng.uniform(low, high):.2g}"))


def _hang(rng: random.Random, seconds: float, clients: list[Client]) -> Fault:
    """Of the node that leads what a client reads, coordinates its group, or keeps what its share group has accepted."""
    client = rng.choice([client for client in clients if "group" in client.given])
    kind = rng.choice(_HANGS if client.role == "sharer" else _HANGS[:2])
    partition = rng.randrange(PARTITIONS) if kind == "stop_leader" else 0
    at, lasts = round(rng.uniform(1, seconds * 0.8), 1), round(rng.uniform(1, 8), 1)
    return Fault(kind, at, lasts, client=client.name, amount=partition)


def _clients(rng: random.Random) -> list[Client]:
    """A writer and a group that reads it always; besides that one or two of the rest, which may share a transactor."""
    clients = [_client(rng, "writer", 0, topic="written")]
    if rng.random() < 0.3:
        clients.append(_client(rng, "writer", 1, topic="written"))
    clients += _members(rng, "readers", "written")
    names = {client.name for client in clients}
    for drawn in rng.sample(_DRAWN, k=rng.choice((1, 1, 2))):
        more = rng.choice(drawn)(rng)
        clients += [client for client in more if client.name not in names]
        names.update(client.name for client in more)
    return clients


def _client(rng: random.Random, role: str, number: int, *, called: str = "", **given: Any) -> Client:
    habit = _habit(rng, HABITS.get(role, ()))
    return Client(f"{called or role}-{number}", role, rng.choice(("threads", "asyncio")), given | habit)


def _habit(rng: random.Random, habits: tuple[str, ...]) -> dict[str, str]:
    """One client in three has one, where its role has any."""
    drawn = rng.choice((None, None, *habits)) if habits else None
    return {} if drawn is None else {"habit": drawn}


def _members(rng: random.Random, group: str, topic: str) -> list[Client]:
    given = {"group": group, "topic": topic} | _protocol(rng) | {"commits": rng.choice(("each", "some", "auto"))}
    return [_client(rng, "member", number, called=group[:-1], **given) for number in range(2)]


def _protocol(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {"group_protocol": "consumer"}
    return {"partition_assignment_strategy": [rng.choice(("range", "roundrobin", "sticky", "cooperative-sticky"))]}


def _transactions(rng: random.Random) -> list[Client]:
    return [_client(rng, "transactor", 0, topic="transacted"), *_members(rng, "auditors", "transacted")]


def _copy(rng: random.Random) -> list[Client]:
    given = {"group": "copiers", "topic": "written", "target": "copied"} | _protocol(rng)
    return [_client(rng, "copier", number, **given) for number in range(2)]


def _share(rng: random.Random, topic: str = "written") -> list[Client]:
    given = {"group": "sharers", "topic": topic, "acquires": rng.choice(("batch_optimized", "record_limit"))}
    return [
        _client(rng, "sharer", number, **given, commits=rng.choice(("each", "some", "polls"))) for number in range(2)
    ]


def _shared_transactions(rng: random.Random) -> list[Client]:
    """A share group that is to get what was committed, and nothing else."""
    return [_client(rng, "transactor", 0, topic="transacted"), *_share(rng, "transacted")]


_DRAWN = ((_transactions,), (_copy,), (_share, _shared_transactions))
