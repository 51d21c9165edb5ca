"""ShareConsumer: records of a share group (KIP-932), acknowledged one by one.

Layer 5: puts the engine's share group on the synchronous driver; its logic is in `kwire.engine.share`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any, Never, Self, Unpack, override
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.engine.share.acknowledging import Outcomes
from kwire.engine.share.records import ShareRecords
from kwire.fronts.share_consumer import ShareConsumerFront

if TYPE_CHECKING:
    from kwire.engine.settings.options import Servers, ShareConsumerOptions, Timeout

__all__ = ["ShareConsumer", "ShareRecords"]


@configured_by(ShareConsumerSettings)
@without(absent.SHARE_CONSUMER)
class ShareConsumer(ShareConsumerFront, Client[ShareConsumerSettings]):
    """Reads records that a share group's members acknowledge one by one; any member may get any record. Use it from one
    thread at a time (`wakeup` and `close` from any). Needs Kafka 4.1 or newer.

        with ShareConsumer("host:9092", group_id="workers") as consumer:
            consumer.subscribe(["jobs"])
            for record in consumer.poll(timeout=1.0):
                consumer.acknowledge(record, "accept" if work(record) else "release")

    A record is locked for this consumer for some time (30 s by default, see `acquisition_lock_timeout_ms`); after that
    another one may get it. A record that nobody accepts is delivered five times at most, by default. Keywords are the
    settings below. Errors: ConfigError for settings and arguments; ConnectError; UnknownTopicError; BrokerError; and
    for bad data in the log one of the CodecErrors.
    """

    _reads_by_itself = True

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[ShareConsumerOptions]) -> None:
        self._open(ShareConsumerSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        bootstrap_servers: Servers | None = None,
        **options: Unpack[ShareConsumerOptions],
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is ignored, with a line at DEBUG.
        """
        return cls._configured(ShareConsumerSettings, config, bootstrap_servers, options)

    @override
    def _open(self, settings: ShareConsumerSettings, *, background: bool = True) -> None:
        super()._open(settings, background=background)

    def poll(self, timeout: Timeout = 0.0, max_records: int | None = None, **unknown: Never) -> ShareRecords:
        """Records acquired for this consumer, as soon as there are any; empty when `timeout` seconds passed (None: no
        limit), and after `wakeup()`.

        Accepts what an earlier poll returned and `acknowledge` was not called for; with
        share_acknowledgement_mode="explicit" it raises ConfigError instead. `max_records` is the limit (default:
        max_poll_records).
        """
        records = self._door.run(self._polled(timeout, max_records, unknown))
        self._polling.arrived = True  # nothing runs from here to the caller's assignment
        return records

    def commit(self, *, timeout: Timeout = None) -> Outcomes:
        """Sends the acknowledgements now, with share_acknowledgement_mode="implicit" all that the last poll
        returned. Returns the outcome of each partition: None, or the error; a record whose lock ran out is an
        InvalidRecordStateError."""
        return self._door.run(self._committing(timeout))

    @override
    def close(self, timeout: Timeout = None) -> None:
        """Sends the acknowledgements, releases the rest, leaves the group and closes all connections,
        within `timeout` seconds (default: 30). Idempotent: a second one waits for the first."""
        until = self._end_by(timeout)
        self._door.close(self._farewell(until), until, alone=False)
