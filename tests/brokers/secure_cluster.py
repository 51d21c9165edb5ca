"""Nodes of a release with the listeners of listeners.py, their keys and users."""

from collections.abc import Mapping
from pathlib import Path

from tests.brokers.cluster import Cluster
from tests.brokers.failures import BrokerError
from tests.brokers.kdc import Kdc
from tests.brokers.keys import Keys
from tests.brokers.listeners import USERS, Listeners
from tests.brokers.ports import is_open
from tests.brokers.processes import Child
from tests.brokers.properties import NodePlace
from tests.brokers.releases import Release

_USERS_WITHIN_S = 60.0


class SecureCluster(Cluster):
    """A Cluster; `listeners` says where its listeners are, once it has started."""

    def __init__(
        self,
        release: str | Release,
        keys: Keys,
        kdc: Kdc | None,
        *,
        nodes: int = 1,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(release, nodes=nodes, overrides=overrides)
        self._kdc = kdc
        self.keys = keys

    @property
    def log(self) -> Path:
        """What the first broker writes: its log, its standard output and error."""
        return self.broker().log

    def _prepare(self) -> None:
        self.listeners = Listeners(self.release, self.keys, self._kdc, self.folder, nodes=len(self.node_ids))
        self._jvm_flags = self.listeners.jvm_flags
        self._format_arguments = self.listeners.format_arguments
        if self.release.mode == "zookeeper" and "SCRAM-SHA-512" in self.listeners.mechanisms:
            self._make_users()

    def _overrides_of(self, place: NodePlace) -> Mapping[str, str]:
        return self.listeners.properties(place.node_id) | super()._overrides_of(place)

    def _serves(self, place: NodePlace, running: set[int]) -> bool:
        # KRaft opens one listener after the other.
        ports = [listener.ports[place.node_id - 1] for listener in self.listeners]
        return super()._serves(place, running) and all(map(is_open, ports))

    def _make_users(self) -> None:
        for name, password in USERS.items():
            credentials = ",".join(f"{mechanism}=[password={password}]" for mechanism in _scram())
            entity = ["--entity-type", "users", "--entity-name", name, "--add-config", credentials]
            arguments = ["--zookeeper", self.zookeeper_connect, "--alter", *entity]
            command = self._java("kafka.admin.ConfigCommand", *arguments)
            child = Child("the making of users", command, self.folder / f"user-{name}.log", self.folder)
            if child.wait(_USERS_WITHIN_S) != 0:
                child.kill()
                raise BrokerError(f"Kafka {self.release.name}: no user {name}\n{child.tail()}")


def _scram() -> tuple[str, str]:
    return "SCRAM-SHA-256", "SCRAM-SHA-512"
