"""Every setting of the clients, in one table each: keyword, type, default, limits, description.

Layer 3, no I/O. Keywords are Java's configuration names with underscores for dots; defaults are Java 4's where not said
otherwise. `config.py` reads the dotted names, librdkafka's aliases and Spark's `kafka.` prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kwire._typing import Any, override
from kwire.engine.common.addresses import Address, parse_bootstrap
from kwire.engine.common.serialization import Serializer
from kwire.engine.settings.foreign import key_of, kinds_of
from kwire.engine.settings.groups import GroupSettings
from kwire.engine.settings.kinds import Setting, Settings, optional_setting, setting
from kwire.engine.settings.offset_reset import WANTED, offset_reset
from kwire.engine.settings.security import SecuritySettings
from kwire.engine.settings.transactions import TransactionSettings
from kwire.engine.settings.values import (
    PARTITIONERS,
    SERIALIZERS,
    acks,
    deserialize_errors,
    deserializer,
    interceptors,
    partitioner,
    serializer,
)
from kwire.errors import ConfigError
from kwire.errors.wording import SettingName, Wording

_DAY_MS = 86_400_000
_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_MAX_IN_FLIGHT_IN_ORDER = 5
_LEVELS = {"compression.gzip.level", "compression.lz4.level", "compression.zstd.level"}
_SAME_LEVELS: dict[str, dict[str, int | None]] = {
    "none": {"-1": None},
    "gzip": {"-1": None},
    "snappy": {"-1": None, "0": None},
    "lz4": {"-1": None, "0": None, **dict.fromkeys(("13", "14", "15", "16", "17"), 12)},
}
"""Levels that Java and librdkafka have and kwire has not: what they stand for, None for the codec's default."""

_IGNORE_KEYS = Setting(bool, None, "Choose partitions without looking at keys.", optional=True)
_IGNORE_KEYS.keyword = "partitioner.ignore.keys"
_OF_PRODUCERS = {*_LEVELS, _IGNORE_KEYS.keyword}


class ClientSettings(SecuritySettings):
    """The settings that every client has."""

    client = "every client"

    @override
    def conflicts(self, chosen: Collection[str]) -> list[str]:
        from kwire.engine.settings.security_conflicts import conflicts  # late: only for a client that is made

        found = super().conflicts(chosen) + conflicts(self, chosen)
        try:
            parse_bootstrap(self.bootstrap_servers, self.security_protocol)
        except ConfigError as refusal:
            found.append(str(refusal))
        return found

    @override
    def unknown(self, name: str) -> str:
        owners = owners_of(name)
        if owners:
            return Wording(
                "{name!r} is a setting of {owners}, not of {client}",
                name=SettingName(name),
                owners=" and ".join(owners),
                client=self.client,
            )
        return super().unknown(name)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The bootstrap servers, parsed."""
        return parse_bootstrap(self.bootstrap_servers, self.security_protocol)


class ProducerSettings(TransactionSettings, ClientSettings):
    """The settings that only a Producer has."""

    client = "Producer"

    acks: int | str = setting(
        object,
        "all",
        "How many replicas must have a record before it is acknowledged: 0, 1, or 'all' (-1).",
        choices=(0, 1, "all"),
        convert=acks,
        wanted="one of 0, 1, 'all' (or -1)",
        given_as='Literal[0, 1, "all", -1, "0", "1", "-1"]',
        aliases=("request.required.acks",),
    )
    linger_ms: int = setting(
        int,
        5,
        "How long a batch waits for more records before it is sent.",
        minimum=0,
        maximum=_DAY_MS,
        aliases=("queue.buffering.max.ms",),
    )
    batch_size: int = setting(
        int,
        16_384,
        "A batch of this size is sent at once.",
        minimum=0,
        maximum=_INT_MAX,
        aliases=("max.batch.size",),
    )
    compression: str = setting(
        str,
        "none",
        "The compression codec of batches; None means 'none'.",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        synonyms={None: "none", "uncompressed": "none"},
        aliases=("compression.type", "compression.codec"),
    )
    level: int | None = optional_setting(
        int, "The compression level; None means the codec's default.", aliases=("compression.level",)
    )
    enable_idempotence: bool | None = optional_setting(
        bool, "Write each record once and in order: None means where the broker can, True raises where it cannot."
    )
    max_in_flight_requests_per_connection: int = setting(
        int,
        5,
        "How many Produce requests may be in flight to one broker.",
        minimum=1,
        maximum=1000,
        aliases=("max.in.flight", "max.in.flight.requests.per.connection"),
    )
    delivery_timeout_ms: int = setting(
        int,
        120_000,
        "A record that is not acknowledged within this time has failed.",
        minimum=0,
        maximum=_INT_MAX,
        aliases=("message.timeout.ms",),
    )
    buffer_memory: int = setting(
        int,
        32 * 1024 * 1024,
        "How much memory records may take until they are delivered; when it is full, send() blocks (asyncio: raises).",
        minimum=0,
        maximum=_LONG_MAX,
    )
    max_block_ms: int = setting(
        int,
        60_000,
        "How long send() may block, and how long records of a topic that does not exist wait for it.",
        minimum=0,
        maximum=_INT_MAX,
    )
    max_request_size: int = setting(
        int,
        1_048_576,
        "The largest request, and so the largest record.",
        minimum=0,
        maximum=_INT_MAX,
        aliases=("message.max.bytes",),
    )
    retries: int = setting(
        int,
        _INT_MAX,
        "How often a batch is sent again; delivery_timeout_ms ends that sooner.",
        minimum=0,
        maximum=_INT_MAX,
        aliases=("message.send.max.retries",),
    )
    metadata_max_idle_ms: int = setting(
        int,
        300_000,
        "Metadata of a topic without records for this long is no longer asked for.",
        minimum=5000,
        maximum=_INT_MAX,
    )
    partitioner: str | Callable[..., Any] = setting(
        object,
        "default",
        "'default': the partition of the key's murmur2 hash, without a key one that changes with each batch.",
        convert=partitioner,
        wanted=f"one of {', '.join(map(repr, PARTITIONERS))}, or a callable(key, all_partitions, available_partitions)",
        given_as="PartitionerName | Partitioner",
        synonyms={None: "default"},
        aliases=("partitioner.class",),
    )
    key_serializer: Serializer | None = optional_setting(
        object,
        "Makes bytes of each key: a name, or a callable(value, context) -> bytes or None. None: keys are bytes.",
        convert=serializer,
        wanted=SERIALIZERS,
        given_as="SerializerName | Callable[..., Any]",
    )
    value_serializer: Serializer | None = optional_setting(
        object,
        "Makes bytes of each value: a name, or a callable(value, context) -> bytes or None. None: values are bytes.",
        convert=serializer,
        wanted=SERIALIZERS,
        given_as="SerializerName | Callable[..., Any]",
    )
    interceptors: tuple[object, ...] = setting(
        object,
        (),
        "Objects with on_send(topic, record) and on_acknowledged(metadata, error), or one of them.",
        convert=interceptors,
        wanted="a list of objects",
        given_as="Sequence[object]",
    )
    allow_auto_create_topics: bool = setting(
        bool, True, "Let the broker create a missing topic on first use, if the broker is configured to do so."
    )

    @classmethod
    @override
    def resolved(cls, given: Mapping[str, object], refusals: list[str]) -> Mapping[str, object]:
        return _with_ignored_keys(_with_level(super().resolved(given, refusals)), refusals)

    @override
    def conflicts(self, chosen: Collection[str]) -> list[str]:
        found = super().conflicts(chosen)
        if self.level is not None:
            try:
                _check_level(self.compression, self.level)
            except ConfigError as refusal:
                return [*found, str(refusal)]
        if self.enable_idempotence or self.transactional_id:
            needy = Wording("{transactional_id}" if self.transactional_id else "{enable_idempotence}=True")
            found += self._against_order(needy)
        return found

    @property
    def keeps_order(self) -> bool:
        """Whether these settings let each record be written once and in order: idempotence needs that."""
        return not self._against_order("idempotence")

    def _against_order(self, needy: str) -> list[str]:
        """What forbids writing each record once and in order, which `needy` needs."""
        found: list[str] = []
        if self.acks != "all":
            found.append(Wording("{needy} needs {acks}='all', not {acks}={given!r}", needy=needy, given=self.acks))
        if self.max_in_flight_requests_per_connection > _MAX_IN_FLIGHT_IN_ORDER:
            found.append(
                Wording(
                    "{needy} needs {max_in_flight_requests_per_connection} of at most {limit}, not {given}",
                    needy=needy,
                    limit=_MAX_IN_FLIGHT_IN_ORDER,
                    given=self.max_in_flight_requests_per_connection,
                )
            )
        if not self.retries:
            found.append(Wording("{needy} needs {retries} above 0", needy=needy))
        return found

    @property
    def required_acks(self) -> int:
        """`acks` as the wire has it: 0, 1, or -1 for all."""
        return -1 if self.acks == "all" else int(self.acks)


class ConsumerSettings(GroupSettings, ClientSettings):
    """The settings that only a Consumer has."""

    client = "Consumer"

    auto_offset_reset: str = setting(
        str,
        "latest",
        "Where to begin without a position, or if it is gone: 'earliest', 'latest', 'none', or 'by_duration:PT1H'.",
        convert=offset_reset,
        wanted=WANTED,
        given_as='Literal["earliest", "latest", "none"] | str',
    )
    fetch_min_bytes: int = setting(
        int, 1, "How much data a broker gathers before it responds to a fetch.", minimum=0, maximum=_INT_MAX
    )
    fetch_max_bytes: int = setting(
        int,
        52_428_800,
        "The largest response to a fetch; less is requested where that is as fast.",
        minimum=0,
        maximum=_INT_MAX,
    )
    fetch_max_wait_ms: int = setting(
        int,
        500,
        "How long a broker waits for fetch_min_bytes.",
        minimum=0,
        maximum=_DAY_MS,
        aliases=("fetch.wait.max.ms",),
    )
    max_partition_fetch_bytes: int = setting(
        int,
        1_048_576,
        "The largest share of one partition in a response.",
        minimum=0,
        maximum=_INT_MAX,
        aliases=("fetch.message.max.bytes",),
    )
    max_poll_records: int | None = optional_setting(
        int,
        "The largest number of records of one poll; None: 2 MB or 16384, in a group as many as 3 s of work.",
        minimum=1,
    )
    check_crcs: bool = setting(bool, True, "Verify the checksum of each batch.", aliases=("check.crcs",))
    isolation_level: str = setting(
        str,
        "read_uncommitted",
        "Whether to return records of open and aborted transactions.",
        choices=("read_uncommitted", "read_committed"),
    )
    client_rack: str = setting(str, "", "The rack of this client, to read from a replica near it.")
    interceptors: tuple[object, ...] = setting(
        object,
        (),
        "Objects with on_consume(records) and on_commit(offsets), or one of them.",
        convert=interceptors,
        wanted="a list of objects",
        given_as="Sequence[object]",
    )
    max_decompressed_bytes: int = setting(
        int, 256 * 1024 * 1024, "A batch whose content and index take more memory is refused.", minimum=1, maximum=2**40
    )
    key_deserializer: Serializer | None = optional_setting(
        object,
        "Reads each key: a name, or a callable(bytes or None, context). None: keys stay bytes.",
        convert=deserializer,
        wanted=SERIALIZERS,
        given_as="SerializerName | Callable[..., Any]",
    )
    value_deserializer: Serializer | None = optional_setting(
        object,
        "Reads each value: a name, or a callable(bytes or None, context). None: values stay bytes.",
        convert=deserializer,
        wanted=SERIALIZERS,
        given_as="SerializerName | Callable[..., Any]",
    )
    deserialize_errors: str | Callable[..., Any] = setting(
        object,
        "raise",
        "What becomes of a key or value that cannot be read: 'raise', 'keep' (the error), or what a callable returns.",
        convert=deserialize_errors,
        wanted="'raise', 'keep', or a callable(error, record)",
        given_as='Literal["raise", "keep"] | Callable[..., Any]',
    )
    allow_auto_create_topics: bool = setting(
        bool, True, "Let the broker create a missing topic on first use, if the broker is configured to do so."
    )


def _of_consumer(keyword: str) -> Any:
    """The same row as a Consumer has."""
    return ConsumerSettings.table[keyword]


class ShareConsumerSettings(ClientSettings):
    """The settings that only a ShareConsumer has, a member of a share group (KIP-932).

    Where records begin, what is isolated and how long they are locked are settings of the group, which the cluster has:
    share.auto.offset.reset, share.isolation.level, share.record.lock.duration.ms.
    """

    client = "ShareConsumer"

    group_id: str = setting(str, "", "The share group; it must be given.")
    share_acknowledgement_mode: str = setting(
        str,
        "implicit",
        "'implicit': the next poll or commit accepts what was not acknowledged; 'explicit': all must be acknowledged.",
        choices=("implicit", "explicit"),
    )
    share_acquire_mode: str = setting(
        str,
        "batch_optimized",
        "'batch_optimized': brokers acquire whole batches; 'record_limit': max_poll_records at most (Kafka 4.2).",
        choices=("batch_optimized", "record_limit"),
    )
    max_poll_records: int = setting(
        int, 500, "The largest number of records of one poll, and about how many are acquired.", minimum=1
    )
    max_poll_interval_ms: int = _of_consumer("max_poll_interval_ms")
    fetch_min_bytes: int = _of_consumer("fetch_min_bytes")
    fetch_max_bytes: int = _of_consumer("fetch_max_bytes")
    fetch_max_wait_ms: int = _of_consumer("fetch_max_wait_ms")
    check_crcs: bool = _of_consumer("check_crcs")
    key_deserializer: Serializer | None = _of_consumer("key_deserializer")
    value_deserializer: Serializer | None = _of_consumer("value_deserializer")
    deserialize_errors: str | Callable[..., Any] = _of_consumer("deserialize_errors")
    client_rack: str = _of_consumer("client_rack")
    max_decompressed_bytes: int = _of_consumer("max_decompressed_bytes")
    allow_auto_create_topics: bool = _of_consumer("allow_auto_create_topics")

    @override
    def conflicts(self, chosen: Collection[str]) -> list[str]:
        found = super().conflicts(chosen)
        if not self.group_id:
            found.append(Wording("{group_id} is missing: a ShareConsumer is a member of a share group"))
        return found


class AdminSettings(ClientSettings):
    """An Admin has no settings of its own yet."""

    client = "Admin"


def names_of(table: type[Settings]) -> dict[str, Setting]:
    """The rows of a table under each of their names, as keywords and with dots."""
    return {name: row for row in table.table.values() for name in (row.keyword, row.dotted, *row.aliases)}


def owners_of(name: str) -> tuple[str, ...]:
    """The kinds of clients that have a setting, or would in another library; none for one of all kinds, or of none."""
    tables = (AdminSettings, ProducerSettings, ConsumerSettings, ShareConsumerSettings)
    having = tuple(table.client for table in tables if not names_of(table).keys().isdisjoint((name, key_of(name))))
    if key_of(name) in _OF_PRODUCERS:
        return (ProducerSettings.client,)
    return () if len(having) == len(tables) else having or kinds_of(name)


def _with_level(given: Mapping[str, object]) -> Mapping[str, object]:
    """Java has a level for each codec; that of the codec in use is the level, the others say nothing."""
    codec = str(given.get("compression")).strip().lower()
    levels = {key_of(name): value for name, value in given.items() if key_of(name) in _LEVELS}
    kept = {name: value for name, value in given.items() if key_of(name) not in levels}
    chosen = f"compression.{codec}.level"
    if chosen in levels:
        kept = {"level": levels[chosen], **kept}
    same = _SAME_LEVELS.get(codec, {})
    asked = str(kept.get("level")).strip()
    return {**kept, "level": same[asked]} if asked in same else kept


def _with_ignored_keys(given: Mapping[str, object], refusals: list[str]) -> Mapping[str, object]:
    """Java's partitioner.ignore.keys is a partitioner here; as there, another partitioner makes it say nothing."""
    kept = {name: value for name, value in given.items() if key_of(name) != _IGNORE_KEYS.keyword}
    if len(kept) == len(given):
        return given
    try:
        ignores = [_IGNORE_KEYS.check(given[name]) for name in given if name not in kept]
    except ConfigError as refusal:
        refusals.append(str(refusal))
        return kept
    if any(ignores) and kept.get("partitioner") in (None, ""):
        kept["partitioner"] = "uniform_sticky"
    return kept


def _check_level(codec: str, level: int) -> None:
    from kwire.compression import check_level

    check_level(codec, level)
