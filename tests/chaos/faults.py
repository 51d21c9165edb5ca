"""Does to a cluster and its clients what a schedule says, and heals all of it in the end."""

import threading
import time
from collections.abc import Callable
from itertools import chain

import kwire
from kwire.errors import KafkaError
from tests.chaos.cluster import ChaosCluster
from tests.chaos.history import History
from tests.chaos.passwords import Passwords
from tests.chaos.places import coordinator, leader, share_coordinator
from tests.chaos.schedule import Fault
from tests.chaos.team import Team

_COORDINATORS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_ADMIN_S = 10.0


class Faults:
    """Begins and ends faults; from the main thread, since brokers are started by it."""

    def __init__(self, cluster: ChaosCluster, team: Team, passwords: Passwords, history: History) -> None:
        self._cluster = cluster
        self._passwords = passwords
        self._team = team
        self._history = history
        self._moves: list[threading.Thread] = []
        self._hanging: dict[Fault, int] = {}

    def run(self, faults: tuple[Fault, ...], seconds: float) -> None:
        """The whole schedule; clients that ended meanwhile are started again."""
        start = time.monotonic()
        steps: list[tuple[float, Callable[[Fault], None], Fault]] = [(fault.at, self._begin, fault) for fault in faults]
        steps += [(fault.at + fault.lasts, self._end, fault) for fault in faults if fault.lasts]
        steps.sort(key=lambda step: step[0])
        while time.monotonic() < start + seconds:
            while steps and time.monotonic() >= start + steps[0][0]:
                _, act, fault = steps.pop(0)
                act(fault)
            self._team.keep_running()
            time.sleep(0.05)
        for fault in faults:
            self._end(fault)
        self._heal()

    def _begin(self, fault: Fault) -> None:
        self._history.note("cut", fault=str(fault))
        match fault.kind:
            case "kill_client":
                self._team.kill(str(fault.client))
            case "stop_client":
                self._team.stop(str(fault.client))
            case "kill_broker":
                self._cluster.broker(fault.node or 1).kill()
            case "stop_broker":
                self._hang(fault, fault.node)
            case "stop_leader" | "stop_coordinator" | "stop_share_coordinator":
                self._hang(fault, self._node_of(fault))
            case "move_leaders":
                self._move(lambda topic: not topic.startswith("__"))
            case "move_coordinators":
                self._move(lambda topic: topic in _COORDINATORS)
            case "change_password" if fault.amount:
                self._passwords.change_file(first=True)
            case "change_password":
                self._passwords.change_brokers(first=True)
            case _:
                for node in [fault.node] if fault.node else self._cluster.node_ids:
                    for proxy in self._cluster.proxies[node]:
                        proxy.begin(fault)

    def _end(self, fault: Fault) -> None:
        match fault.kind:
            case "stop_client":
                self._team.resume(str(fault.client))
            case "kill_broker":
                self._revive(fault.node or 1)
            case "stop_broker" | "stop_leader" | "stop_coordinator" | "stop_share_coordinator":
                if (node := self._hanging.pop(fault, None)) is not None:
                    self._revive(node)
            case "change_password" if fault.amount:
                self._passwords.change_brokers()
            case "change_password":
                self._passwords.change_file()
            case "kill_client" | "move_leaders" | "move_coordinators":
                return
            case _:
                for proxy in chain.from_iterable(self._cluster.proxies.values()):
                    proxy.end(fault)
        self._history.note("healed", fault=str(fault))

    def _node_of(self, fault: Fault) -> int | None:
        """The node that a client depends on now, where one is known."""
        servers, partition = self._cluster.bootstrap_servers, int(fault.amount)
        group, topic = self._team.reads(str(fault.client))
        match fault.kind:
            case "stop_leader":
                return leader(servers, topic, partition)
            case "stop_coordinator":
                return coordinator(servers, group)
        return share_coordinator(servers, group, topic, partition)

    def _hang(self, fault: Fault, node: int | None) -> None:
        if node is not None and (broker := self._cluster.broker(node)).exit_code is None:
            self._hanging[fault] = node
            broker.pause()
            self._history.note("hangs", fault=str(fault), node=node)

    def _revive(self, node: int) -> None:
        if self._cluster.broker(node).exit_code is None:
            self._cluster.broker(node).resume()
        else:
            self._cluster.launch_node(node)

    def _heal(self) -> None:
        for move in self._moves:
            move.join()
        self._passwords.settle()
        self._team.keep_running()
        self._cluster.wait_until_ready()
        self._history.note("healed", fault="all")

    def _move(self, concerns: Callable[[str], bool]) -> None:
        move = threading.Thread(target=move_leaders, args=(self._cluster.bootstrap_servers, concerns))
        move.start()
        self._moves.append(move)


def move_leaders(servers: str, concerns: Callable[[str], bool]) -> None:
    """Makes the next replica of each partition its leader; what cannot be moved now stays."""
    try:
        with kwire.Admin(servers) as admin:
            topics = [topic for topic in admin.list_topics(internal=True, timeout=_ADMIN_S) if concerns(topic)]
            found = admin.describe_topics(topics, timeout=_ADMIN_S)
            rotated = {
                (topic, number): [*row.replicas[1:], row.replicas[0]]
                for topic, about in found.items()
                for number, row in about.partitions.items()
            }
            admin.alter_partition_reassignments(rotated, timeout=_ADMIN_S)
            admin.elect_leaders("preferred", list(rotated), timeout=_ADMIN_S)
    except (KafkaError, ExceptionGroup):
        return
