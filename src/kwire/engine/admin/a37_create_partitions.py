"""CreatePartitions: more partitions for topics, asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import each_of, where_missing
from kwire.errors import KafkaError
from kwire.schema.api_keys import CREATE_PARTITIONS
from kwire.schema.error_codes import INVALID_PARTITIONS

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class NewPartitions(NamedTuple):
    """How many partitions a topic is to have in all. `new_assignments`, where the broker shall not choose, has the
    replicas of each new partition in turn, the preferred leader first."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class CreatePartitions(AdminApi[str, None]):
    """Gives the topics more partitions; the result is None."""

    api_key = CREATE_PARTITIONS
    means_done = frozenset({INVALID_PARTITIONS})
    tells_all = True

    def __init__(self, wanted: Mapping[str, NewPartitions], *, validate_only: bool) -> None:
        self.what = f"CreatePartitions of {', '.join(wanted)}"
        self.lookup = Controller()
        self._wanted = wanted
        self._validate_only = validate_only

    @override
    def split(self, core: Services) -> Sequence[str]:
        return list(self._wanted)

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.CreatePartitionsRequest:
        return protocol.CreatePartitionsRequest(
            topics=[_topic(name, self._wanted[name]) for name in keys],
            timeout_ms=self.patience_ms,
            validate_only=self._validate_only,
        )

    @override
    def result(
        self, keys: Sequence[str], response: protocol.CreatePartitionsResponse, version: int
    ) -> Mapping[str, KafkaError | None]:
        return each_of(((row.name, row.error_code, row.error_message) for row in response.results), "CreatePartitions")

    @override
    def merge(self, results: Mapping[str, None]) -> None:
        return None

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, CREATE_PARTITIONS, "partitions can be added from Kafka 1.0 on")


def _topic(name: str, new: NewPartitions) -> protocol.CreatePartitionsRequest.CreatePartitionsTopic:
    made = protocol.CreatePartitionsRequest.CreatePartitionsTopic
    assignments = new.new_assignments
    return made(
        name=name,
        count=new.total_count,
        assignments=None
        if assignments is None
        else [made.CreatePartitionsAssignment(broker_ids=replicas) for replicas in assignments],
    )
