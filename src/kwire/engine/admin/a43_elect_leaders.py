"""ElectLeaders: partitions get the leader that they prefer, or any that is alive; asked of the controller.

Layer 3, no I/O. v0 (Kafka 2.2) elects preferred leaders only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, TypeVar, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import all_of, said
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import ELECT_LEADERS
from kwire.schema.error_codes import ELECTION_NOT_NEEDED, NONE

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.ElectLeadersResponse.ReplicaElectionResult.PartitionResult

Key = TypeVar("Key")
Result = TypeVar("Result")

PREFERRED, UNCLEAN = 0, 1
Elected = dict[TopicPartition, bool]
_FIRST_VERSION_WITH_TYPES = 1


class _Election(AdminApi[Key, Result]):
    """What both calls have in common."""

    api_key = ELECT_LEADERS
    what = "ElectLeaders"

    def __init__(self, election_type: int) -> None:
        self.lookup = Controller()
        self._type = election_type
        if election_type == PREFERRED:
            self.when_too_old = "before Kafka 2.2 only its own tools can elect leaders, by ZooKeeper"
        else:
            self.versions = APIS[self.api_key].versions[_FIRST_VERSION_WITH_TYPES:]
            self.when_too_old = "unclean elections can be asked for since Kafka 2.4"

    def _request(
        self, core: Services, partitions: Sequence[TopicPartition] | None, version: int
    ) -> protocol.ElectLeadersRequest:
        request = protocol.ElectLeadersRequest(timeout_ms=self.patience_ms, topic_partitions=None)
        if version >= _FIRST_VERSION_WITH_TYPES:
            request.election_type = self._type
        if partitions is not None:
            by_topic: dict[str, list[int]] = defaultdict(list)
            for tp in partitions:
                by_topic[tp.topic].append(tp.partition)
            made = protocol.ElectLeadersRequest.TopicPartitions
            request.topic_partitions = [made(topic=name, partitions=rows) for name, rows in by_topic.items()]
        return request

    def _outcomes(self, response: protocol.ElectLeadersResponse) -> dict[TopicPartition, bool | KafkaError]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        rows = (
            (TopicPartition(topic.topic, row.partition_id), row)
            for topic in response.replica_election_results
            for row in topic.partition_result
        )
        return by_key(((tp, self._outcome(tp, row)) for tp, row in rows), self.what)

    def _outcome(self, tp: TopicPartition, row: Row) -> bool | KafkaError:
        if row.error_code in (NONE, ELECTION_NOT_NEEDED):
            return row.error_code == NONE
        return errors.broker.error_for(row.error_code, said(f"{self.what} of {tp}", row.error_message))


class ElectLeaders(_Election[TopicPartition, bool]):
    """{partition: whether it got another leader}; False where it had the right one already."""

    tells_all = True

    def __init__(self, election_type: int, partitions: Sequence[TopicPartition]) -> None:
        super().__init__(election_type)
        self._partitions = partitions

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return self._partitions

    @override
    def request(self, core: Services, keys: Sequence[TopicPartition], version: int) -> protocol.ElectLeadersRequest:
        return self._request(core, keys, version)

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.ElectLeadersResponse, version: int
    ) -> Mapping[TopicPartition, bool | KafkaError]:
        return self._outcomes(response)


class ElectAllLeaders(_Election[None, Elected]):
    """The same of all partitions; those that had the right leader already are left out."""

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.ElectLeadersRequest:
        return self._request(core, None, version)

    @override
    def result(
        self, keys: Sequence[None], response: protocol.ElectLeadersResponse, version: int
    ) -> Mapping[None, Elected]:
        elected: Elected = {}
        failed: dict[TopicPartition, KafkaError] = {}
        for tp, outcome in self._outcomes(response).items():
            if isinstance(outcome, KafkaError):
                failed[tp] = outcome
            elif outcome:
                elected[tp] = True
        if failed:
            raise all_of(failed, elected)
        return {None: elected}

    @override
    def merge(self, results: Mapping[None, Elected]) -> Elected:
        return results[None]
