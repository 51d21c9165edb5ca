"""What a read needs to know of the cluster: partitions, their leaders, the ends of their logs, offsets at times.

Used where a read is planned: once by a batch, for the life of a query by a stream. One Admin, and so one connection
for each broker; each question costs one request to each leader, however many partitions there are.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import UUID

from kwire import _inside
from kwire.admin import Admin, TopicInfo
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.settings.clients import AdminSettings, ConsumerSettings
from kwire.engine.settings.config import from_config
from kwire.errors import BrokerError, ConfigError, ConnectError, KafkaError, KafkaTimeoutError, UnknownTopicError
from kwire.errors.listing import counted
from kwire.errors.wording import joined
from kwire.schema.error_codes import CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION
from kwire.spark.options.client import CLIENT_SETTINGS, errors_by_option
from kwire.spark.options.given import SERVERS
from kwire.spark.options.read import Selection
from kwire.spark.ranges.offsets import EARLIEST, LATEST, LogEnds

_log = logging.getLogger("kwire.spark")

SIZES_WITHIN_S: Final = 5.0
"""How long a read waits for the sizes of logs that it can be planned without."""

_NEVER_TOLD: Final = frozenset({CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION})
_WHEN: Final = {EARLIEST: "earliest", LATEST: "latest"}
# A broker that starts anew refuses connections for some seconds, an address with a typo for ever.
_REFUSED_FOR_S: Final = 15.0
_MAY_BE_TYPOS: Final = frozenset({"refused", "unresolved"})
_HOW_LONG_TO_WAIT: Final = {"default.api.timeout.ms", "default_api_timeout_ms"}

Answer = TypeVar("Answer")


class LiveCluster:
    """The cluster that a consumer with these properties sees; every call asks anew, for `timeout` seconds at most.

    `gives_up_early`: where each address refuses the first connection, or has no known name, that is an error after
    _REFUSED_FOR_S, unless the properties say how long to wait.
    """

    def __init__(
        self, client: Mapping[str, str], *, timeout: float | None = None, gives_up_early: bool = False
    ) -> None:
        settings = from_config(ConsumerSettings, client, **CLIENT_SETTINGS)
        self._client = client
        self._timeout = settings.default_api_timeout_ms / 1000 if timeout is None else timeout
        self._timeout_is_an_option = timeout is None
        self._settings = settings
        self._gives_up_early = gives_up_early and not _HOW_LONG_TO_WAIT & client.keys()
        self._tells_sizes = True
        self._isolation_level = settings.isolation_level
        self.topic_ids: dict[str, UUID] = {}
        own = {name: value for name, value in settings.given().items() if name in AdminSettings.table}
        with errors_by_option(client, on_this_host=True):
            self._admin = Admin(**own)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._admin.close()

    def partitions(self, selection: Selection, *, to_read: bool = False) -> dict[TopicPartition, int]:
        """The partitions of a selection, in order, and the node id of each one's leader (-1 while it has none).

        `topic_ids` has the ids of their topics after it. Raises UnknownTopicError for a topic that is named and does
        not exist. With `to_read`, where a read begins, raises ConfigError for such a partition, which is left out else,
        and TopicAuthorizationFailedError for a topic that may not be read, which tasks would find out one attempt after
        the other.
        """
        try:
            topics = self._topics(selection, to_read=to_read)
        except UnknownTopicError as error:
            raise UnknownTopicError(f"{selection.option}: {error}") from None
        self.topic_ids = {name: topic.topic_id for name, topic in topics.items()}
        if selection.partitions is not None:
            leaders = {tp: _leader(topics[tp.topic], tp, must_exist=to_read) for tp in selection.partitions}
            return {tp: leader for tp, leader in leaders.items() if leader is not None}
        return {
            TopicPartition(name, number): info.leader
            for name, topic in sorted(topics.items())
            for number, info in sorted(topic.partitions.items())
        }

    def _topics(self, selection: Selection, *, to_read: bool) -> dict[str, TopicInfo]:
        names = selection.topics or sorted({tp.topic for tp in selection.partitions or ()})
        if selection.pattern is not None:
            every = self._ask(lambda timeout: self._admin.describe_topics(timeout=timeout))
            found = {n: info for n, info in every.items() if not info.is_internal and re.search(selection.pattern, n)}
            if not to_read:
                return found
            names = sorted(found)
        if not names:
            return {}
        if to_read:
            return self._ask(lambda timeout: _inside.topics_to_read(self._admin, names, timeout))
        return self._ask(lambda timeout: self._admin.describe_topics(names, timeout=timeout))

    def present(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Those of the partitions that exist now, each with its leader; `topic_ids` has only their topics."""
        wanted = set(partitions)
        names = sorted({tp.topic for tp in wanted})
        try:
            found = self.partitions(Selection(topics=tuple(names))) if names else {}
        except UnknownTopicError:
            found = self._partitions_of_those_that_exist(names)
        return {tp: leader for tp, leader in found.items() if tp in wanted}

    def _partitions_of_those_that_exist(self, names: Iterable[str]) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        ids: dict[str, UUID] = {}
        for name in names:
            try:
                found |= self.partitions(Selection(topics=(name,)))
            except UnknownTopicError:
                continue
            ids |= self.topic_ids
        self.topic_ids = ids
        return found

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnds]:
        """The present ends of each log; earliest is asked for first, so that it is never beyond latest."""
        partitions = list(partitions)
        earliest = self.offsets_for_times(dict.fromkeys(partitions, EARLIEST))
        latest = self.latest(partitions)
        return {tp: LogEnds(first, max(first, latest[tp])) for tp, first in earliest.items()}

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset that the next record gets; with `isolation.level=read_committed` the last stable offset."""
        return self.offsets_for_times(dict.fromkeys(partitions, LATEST))

    def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The offset of EARLIEST, LATEST or a time (ms) in each partition; LATEST if no record is that late."""
        when: dict[tuple[str, int], int | datetime | str] = {tp: _WHEN.get(time, time) for tp, time in times.items()}
        level = self._isolation_level
        found = self._ask(lambda timeout: self._admin.list_offsets(when, isolation_level=level, timeout=timeout))
        return {tp: LATEST if place is None else place.offset for tp, place in found.items()}

    def _ask(self, question: Callable[[float], Answer]) -> Answer:
        """The answer to a question that waits for so many seconds; an error names the servers and how long it took."""
        began = time.monotonic()
        with errors_by_option(self._client):
            try:
                answer = self._ask_for_long(question)
            except ConnectError as error:
                raise ConnectError(self._unreached(began, error.message, error.causes), error.causes) from None
            except KafkaTimeoutError as error:
                raise KafkaTimeoutError(self._unreached(began, str(error))) from None
        self._gives_up_early = False
        return answer

    def _ask_for_long(self, question: Callable[[float], Answer]) -> Answer:
        if not self._gives_up_early:
            return question(self._timeout)
        early = min(_REFUSED_FOR_S, self._timeout)
        try:
            return question(early)
        except (ConnectError, KafkaTimeoutError) as error:
            causes = error.causes if isinstance(error, ConnectError) else {}
            if causes and all(cause.kind in _MAY_BE_TYPOS for cause in causes.values()):
                raise
        return question(self._timeout - early)

    def _unreached(self, began: float, what: str, causes: Mapping[str, str] = {}) -> str:
        waited = f"no answer for {time.monotonic() - began:.0f} s"
        if self._timeout_is_an_option:
            waited += " (kafka.default.api.timeout.ms is how long to wait)"
        own = {str(address) for address in self._settings.addresses}
        foreign = ", ".join(sorted(causes.keys() - own))
        hint = f"; the brokers give {foreign} as their address (advertised.listeners)" if foreign else ""
        return joined("; ", (f"{SERVERS} '{self._settings.bootstrap_servers}': {waited}{hint}", what))

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int], timeout: float) -> None:
        """Commits offsets for a group without members, for those who watch its lag."""
        self._admin.alter_consumer_group_offsets(group, offsets, timeout=timeout)

    def record_sizes(
        self,
        partitions: Iterable[TopicPartition],
        ends: Mapping[TopicPartition, LogEnds] | None = None,
        *,
        within: float | None = SIZES_WITHIN_S,
    ) -> dict[TopicPartition, float] | None:
        """The mean size in bytes of an offset in each partition, as it is stored: {} if the brokers did not tell within
        so many seconds (None: the timeout of every question), None if they never will.

        `ends` saves asking for them. They never tell who may not describe the cluster, nor do those before Kafka 1.0;
        these are asked once only. Whatever else goes wrong may pass.
        """
        if not self._tells_sizes:
            return None
        partitions = list(partitions)
        try:
            sizes = _inside.log_sizes(self._admin, partitions, self._timeout if within is None else within)
        except KafkaError as error:
            self._tells_sizes = not (isinstance(error, BrokerError) and error.code in _NEVER_TOLD)
            _log.info("The brokers did not report the sizes of the logs: %s", error)
            return {} if self._tells_sizes else None
        ends = self.ends(partitions) if ends is None else ends
        return {tp: size / max(ends[tp].latest - ends[tp].earliest, 1) for tp, size in sizes.items()}


def _leader(topic: TopicInfo, tp: TopicPartition, *, must_exist: bool) -> int | None:
    found = topic.partitions.get(tp.partition)
    if found is None and must_exist:
        raise ConfigError(
            f"assign names {tp}, which does not exist; {tp.topic} has {counted(len(topic.partitions), 'partition')}"
        )
    return None if found is None else found.leader
