"""What clients push of their metrics (KIP-714), and what they are asked for: the configs of client metrics say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID, uuid4

from kwire._codec import crc32c
from kwire.compression import CODECS, decompress
from kwire.engine.common.expressions import compiled
from kwire.errors import BrokerError, CodecError
from kwire.errors import broker as codes
from kwire.schema.fields import NO_UUID

ACCEPTED = (4, 3, 1, 2)
"""zstd, lz4, gzip, snappy: as Kafka lists them."""

DEFAULT_INTERVAL_MS = 300_000

MAX_PUSHES = 10_000
"""The last so many pushes are kept."""

MAX_INSTANCES = 16_384
"""So many clients are known, those that were heard last: as many as Kafka knows."""

_ALL = "*"


class TelemetryPush(NamedTuple):
    """A push that was taken. `metrics` is the message of OpenTelemetry (MetricsData), decompressed."""

    client_instance_id: UUID
    client_id: str
    terminating: bool
    compression: str
    metrics: bytes


class Subscription(NamedTuple):
    """What one client is asked for."""

    metrics: tuple[str, ...]
    interval_ms: int

    def id_for(self, client_instance_id: UUID) -> int:
        """A checksum of it and the client, so that it is another one when either is."""
        crc = crc32c(repr((self, client_instance_id)).encode())
        return crc - (1 << 32) if crc >= 1 << 31 else crc


@dataclass(slots=True)
class _Instance:
    asked_at: float = -1.0
    pushed_at: float = -1.0
    is_terminated: bool = False
    may_ask: bool = False


class Telemetry:
    """Of all clients. `configs()` has those of the resources, by name. Clients are asked for what totals have grown by
    (`delta`), or for totals."""

    def __init__(self, now: Callable[[], float], configs: Callable[[], Mapping[str, Mapping[str, str]]]) -> None:
        self.pushes: list[TelemetryPush] = []
        self.max_bytes = 1 << 20
        self.delta = True
        self._now = now
        self._configs = configs
        self._instances: dict[UUID, _Instance] = {}

    def subscription(self, labels: Mapping[str, str]) -> Subscription:
        """What a client is asked for; `labels` are what resources match clients by."""
        wanted = [each for each in self._configs().values() if _matches(each.get("match", ""), labels)]
        names = {name.strip() for each in wanted for name in each.get("metrics", "").split(",") if name.strip()}
        intervals = [int(each.get("interval.ms", DEFAULT_INTERVAL_MS)) for each in wanted]
        metrics = (_ALL,) if _ALL in names else tuple(sorted(names))
        return Subscription(metrics, min(intervals, default=DEFAULT_INTERVAL_MS))

    def ask(self, given: UUID, wanted: Subscription) -> UUID:
        """The id of a client that asks; raises BrokerError."""
        known = uuid4() if given == NO_UUID else given
        instance = self._instance(known)
        last = max(instance.asked_at, instance.pushed_at)
        if last < 0 or self._now() - last >= wanted.interval_ms / 1000:
            instance.asked_at = self._now()
        elif not instance.may_ask:
            raise codes.THROTTLING_QUOTA_EXCEEDED(f"client {known} asks too early")
        instance.may_ask = False
        return known

    def push(self, wanted: Subscription, subscription_id: int, codec: int, push: TelemetryPush) -> None:
        """Takes a push, still compressed; raises BrokerError."""
        if push.client_instance_id == NO_UUID:
            raise codes.INVALID_REQUEST("no client instance id")
        instance = self._instance(push.client_instance_id)
        if instance.is_terminated:
            raise codes.INVALID_REQUEST("a push after the last one")
        instance.is_terminated = push.terminating
        try:
            self._check(instance, wanted, subscription_id, codec, push)
        except BrokerError as error:
            instance.may_ask = isinstance(error, (codes.UNKNOWN_SUBSCRIPTION_ID, codes.UNSUPPORTED_COMPRESSION_TYPE))
            raise
        if push.metrics:
            self.pushes.append(
                push._replace(compression=CODECS[codec], metrics=self._decompressed(codec, push.metrics))
            )
            del self.pushes[:-MAX_PUSHES]

    def _instance(self, client_instance_id: UUID) -> _Instance:
        found = self._instances.pop(client_instance_id, None) or _Instance()
        self._instances[client_instance_id] = found
        if len(self._instances) > MAX_INSTANCES:
            del self._instances[next(iter(self._instances))]
        return found

    def _check(
        self, instance: _Instance, wanted: Subscription, subscription_id: int, codec: int, push: TelemetryPush
    ) -> None:
        asked_since = instance.asked_at > instance.pushed_at
        if asked_since or self._now() - instance.pushed_at >= wanted.interval_ms / 1000:
            instance.pushed_at = self._now()
        elif not push.terminating:
            raise codes.THROTTLING_QUOTA_EXCEEDED("too early")
        if subscription_id != wanted.id_for(push.client_instance_id):
            raise codes.UNKNOWN_SUBSCRIPTION_ID(f"{subscription_id} is of another subscription, or client")
        if codec and codec not in ACCEPTED:
            raise codes.UNSUPPORTED_COMPRESSION_TYPE(f"codec {codec}")
        if len(push.metrics) > self.max_bytes:
            raise codes.TELEMETRY_TOO_LARGE(f"{len(push.metrics)} bytes")

    def _decompressed(self, codec: int, data: bytes) -> bytes:
        try:
            return bytes(decompress(CODECS[codec], data, self.max_bytes))
        except CodecError as error:
            raise codes.INVALID_RECORD(str(error)) from None


def labels_of(client_id: str, client_instance_id: UUID, host: str) -> dict[str, str]:
    """What resources of client metrics can match a client by."""
    return {
        "client_id": client_id,
        "client_instance_id": str(client_instance_id),
        "client_source_address": host,
    }


def check_match(match: str) -> None:
    """Raises ValueError for patterns that are none."""
    for each in match.split(","):
        compiled(each.partition("=")[2].strip())


def _matches(match: str, labels: Mapping[str, str]) -> bool:
    """Whether a client has all that `match` asks for: "client_id=kwire.*,client_software_name=kwire"."""
    return all(_has(each.partition("="), labels) for each in match.split(",") if each.strip())


def _has(wanted: Iterable[str], labels: Mapping[str, str]) -> bool:
    name, _, pattern = wanted
    return compiled(pattern.strip()).fullmatch(labels.get(name.strip(), "")) is not None
