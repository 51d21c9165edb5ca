"""Every exception that leaves kwire.

Layer 0: imports nothing of kwire. Broker errors, one class per error code, are in `kwire.errors.broker`, and what a
code meant in which release in `kwire.errors.history`; both are loaded on first use. What a program decides on is an
attribute, not a text. Texts that name settings are a `Wording` (`wording.py`), for those who know other names.

    KafkaError
    ├── ConfigError (ValueError, .problems) an invalid option, topic name, host or codec
    │   └── NoOffsetForPartitionError   nothing is committed, and auto_offset_reset="none"
    ├── CodecError (.field .offset)     bytes that are not what they should be, or values that do not fit the wire
    │   ├── TruncatedError              the bytes end before the field does
    │   ├── InvalidLengthError          a length, count or varint that cannot be valid
    │   ├── CorruptError                checksum, structure or compressed data is broken
    │   ├── LimitError                  valid perhaps, but above a limit that the caller set
    │   ├── UnknownVersionError         a message version, API key or magic that is not known
    │   └── UnknownCodecError           a compression codec that is not known or not installed
    ├── FrameError                      a frame whose length or correlation id makes the connection useless
    ├── ConnectError (.causes)          no broker could be reached; one cause per address
    ├── AuthError (.broker .step .reason) a login or a TLS handshake that failed: retrying does not help
    ├── KafkaTimeoutError (TimeoutError)
    ├── CommitFailedError               the group has rebalanced without this consumer; poll() rejoins
    ├── LogTruncationError (.seek_to)   a log lost records that a consumer had read
    ├── UnknownTopicError               still missing after the wait; names topic and brokers asked
    ├── BufferFull                      `nowait=True` and no room
    ├── ClientClosedError               a client used after its close(), or after a fork
    ├── ConcurrentUseError              a second thread inside an object that allows one
    ├── TransactionError (.abortable)    a transaction that must be aborted, or a producer that can no longer be used
    ├── TransactionStateError           a call that does not fit the state of the transaction
    ├── TransactionAbortedError         a record that was not sent because its transaction was aborted
    ├── UnsupportedError (AttributeError)  a call of another client, or one that kwire does not have
    ├── DeliveryError (ExceptionGroup)  what a flush could not deliver
    ├── RegistryError (.status .error_code)  a schema registry that does not answer as one, or refuses to
    │   ├── UnknownSchemaError          an id, subject or version that the registry does not have
    │   └── IncompatibleSchemaError     a schema that the subject's compatibility forbids
    ├── SerializationError (.topic .field .raw …)  a key or value that cannot be written, or read
    └── BrokerError (.code .retriable)  an error code that a broker answered with
        └── ProducerFencedError         a newer producer has this transactional_id: this one can no longer be used
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kwire._typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from typing import ClassVar

    from kwire.errors import broker as broker
    from kwire.errors import history as history
    from kwire.errors.broker import ProducerFencedError
    from kwire.errors.wording import Cause, Problem
else:
    from kwire._typing import ClassVar

__all__ = [
    "AuthError",
    "BrokerError",
    "BufferFull",
    "ClientClosedError",
    "CodecError",
    "CommitFailedError",
    "ConcurrentUseError",
    "ConfigError",
    "ConnectError",
    "CorruptError",
    "DeliveryError",
    "FrameError",
    "IncompatibleSchemaError",
    "InvalidLengthError",
    "KafkaError",
    "KafkaTimeoutError",
    "LimitError",
    "LogTruncationError",
    "NoOffsetForPartitionError",
    "ProducerFencedError",
    "RegistryError",
    "SerializationError",
    "TransactionAbortedError",
    "TransactionError",
    "TransactionStateError",
    "TruncatedError",
    "UnknownCodecError",
    "UnknownSchemaError",
    "UnknownTopicError",
    "UnknownVersionError",
    "UnsupportedError",
    "broker",
    "history",
]


class KafkaError(Exception):
    """The base of every exception that kwire raises.

    Of a call about several groups, partitions or topics, `failures` has each that failed with its error, and the error
    itself is that of the first; `results` has the others, with what the call returns of each.
    """

    failures: Mapping[Any, KafkaError] = {}
    results: Mapping[Any, Any] = {}


class ConfigError(KafkaError, ValueError):
    """An option, name or address that cannot be used; the text says which and what would work.

    `problems` has each setting that cannot be used, with its text.
    """

    _texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """One error about several problems, at least one."""
        found = tuple(texts)
        made = cls(_as_one(found))
        made._texts = found
        return made

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, one by one: `setting` is the keyword of the setting at fault, the name of one that does not
        exist, or None where it is another thing; `text` says what is wrong.
        """
        from kwire.errors.wording import Problem

        return tuple(map(Problem.of, self._texts or (str(self),)))

    def told(self, words: Callable[[Problem], str]) -> str:
        """The whole text, with each problem in these words."""
        return _as_one([words(problem) for problem in self.problems])


def _wording(template: str, text: str, where: list[str]) -> str:
    from kwire.errors.wording import Wording

    return Wording(template, text=text, where=", ".join(where))


def _as_one(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return f"{len(texts)} settings cannot be used:" + "".join(f"\n  {text}" for text in texts)


class NoOffsetForPartitionError(ConfigError):
    """A partition without a position, and auto_offset_reset="none" does not choose one: seek() first, or commit.

    `topic`, `partition`, and `group_id`: that of the group, which has committed nothing there, or None without one.
    Java's NoOffsetForPartitionException. A ConfigError, too, since the setting asks for it.
    """

    def __init__(self, topic: str, partition: int, group_id: str | None) -> None:
        super().__init__(topic, partition, group_id)
        self.topic = topic
        self.partition = partition
        self.group_id = group_id

    def __str__(self) -> str:
        from kwire.errors.wording import Wording

        why = "" if self.group_id is None else f" (group {self.group_id!r} has committed none there)"
        return Wording(
            "{place} has no position{why}, and {auto_offset_reset}='none' does not choose one: seek() first, or set "
            "'earliest' or 'latest'",
            place=f"{self.topic}-{self.partition}",
            why=why,
        )


class CodecError(KafkaError):
    """Bytes that cannot be decoded, or a value that cannot be encoded.

    `field` is the dotted path of the field at fault ("topics[3].name") or None; `offset` the byte position within the
    buffer given to the decoder, or None when encoding. A consumer that meets the error in what it fetched says where:
    `topic`, `partition`, `record_offset` (the first offset of the bad batch) and `seek_to`, the offset after it.
    """

    def __init__(self, message: str = "", field: str | None = None, offset: int | None = None) -> None:
        super().__init__(message, field, offset)
        self.message = message
        self.field = field
        self.offset = offset
        self.topic: str | None = None
        self.partition: int | None = None
        self.record_offset: int | None = None
        self.seek_to: int | None = None

    def __str__(self) -> str:
        where = []
        if self.field is not None:
            where.append(f"field {self.field}")
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        return _wording("{text} ({where})", self.message, where) if where else self.message


class TruncatedError(CodecError):
    """The bytes end before the field does."""


class InvalidLengthError(CodecError):
    """A length, count, varint or tag order that no correct writer produces."""


class CorruptError(CodecError):
    """A checksum that does not match, compressed data that does not decompress, or a broken structure."""


class LimitError(CodecError):
    """More bytes than the limit allows (decompressed size, frame size, buffer size)."""


class UnknownVersionError(CodecError):
    """A message version, API key or magic that this library does not know."""


class UnknownCodecError(CodecError):
    """A compression codec that is not known, or that the message format cannot carry."""


class FrameError(KafkaError):
    """A frame that makes its connection useless: a length below zero or above the limit, a foreign correlation id.

    Requests that a foreign correlation id has lost fail with a ConnectError instead; this error is its `__cause__`.
    """


class ConnectError(KafkaError):
    """No broker could be reached. `causes` maps each address tried to the reason it failed.

    A cause is a str with a `kind`, which a program may decide on: "refused", "unresolved" (a name without an address),
    "unreachable", "timeout", "auth", or "other".
    """

    def __init__(self, message: str = "", causes: Mapping[str, str] | None = None) -> None:
        super().__init__(message, causes)
        self.message = message
        self.causes: dict[str, Cause] = {}
        if causes:
            from kwire.errors.wording import Cause

            self.causes.update((at, why if isinstance(why, Cause) else Cause(why)) for at, why in causes.items())

    def __str__(self) -> str:
        if not self.causes:
            return self.message
        from kwire.errors.wording import joined

        causes = joined("; ", (joined(": ", pair) for pair in self.causes.items()))
        return joined(": ", (self.message, causes))


class AuthError(KafkaError):
    """One side refused the other: credentials, certificates, or a protocol other than the settings name.

    `broker` names the broker or its address, `step` what was being done ("TLS handshake", "SaslAuthenticate
    (SCRAM-SHA-512)"), `reason` is what the other side, or the check that failed, said. It never holds a secret.
    """

    def __init__(self, message: str = "", *, broker: str = "", step: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.broker = broker
        self.step = step
        self.reason = reason

    def __str__(self) -> str:
        text = self.message or self.reason or "not authenticated"
        where = [part for part in (self.broker, self.step) if part and part not in self.message]
        return _wording("{where}: {text}", text, where) if where else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _auth_error, (type(self), self.message, self.broker, self.step, self.reason)


def _auth_error(kind: type[AuthError], message: str, broker: str, step: str, reason: str) -> AuthError:
    return kind(message, broker=broker, step=step, reason=reason)


class KafkaTimeoutError(KafkaError, TimeoutError):
    """Something did not happen within the time asked; the text says what was waited for.

    `deliveries` are those of the records that a send_many took before it found no room for so long.
    """

    deliveries: Sequence[Any] = ()

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class CommitFailedError(KafkaError):
    """Offsets that were not committed, because the group has gone on without this consumer.

    Other members may have its partitions by now, and will read again what it did not commit. Do not repeat the commit:
    poll() joins the group again. The text says what led to it.
    """


class LogTruncationError(KafkaError):
    """A partition lost records that were read already: its leader changed without the others' agreement (KIP-320).

    `topic`, `partition`; `record_offset` is the consumer's position, `seek_to` the first offset that differs, or None
    where the leader does not know it.
    """

    def __init__(
        self, topic: str = "", partition: int = -1, record_offset: int = -1, seek_to: int | None = None
    ) -> None:
        known = f"its log differs from offset {seek_to} on; seek there" if seek_to is not None else "seek to go on"
        super().__init__(f"{topic}-{partition} was truncated below the position {record_offset}: {known}")
        self.topic = topic
        self.partition = partition
        self.record_offset = record_offset
        self.seek_to = seek_to

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.topic, self.partition, self.record_offset, self.seek_to)


class UnknownTopicError(KafkaError):
    """A topic or partition that the brokers asked do not have."""


class BufferFull(KafkaError):  # noqa: N818 - a fixed public name
    """`nowait=True` was asked for and `buffer_memory` is used up.

    `deliveries` are those of the records that a send_many took before: a retry begins after them.
    """

    deliveries: Sequence[Any] = ()


class ClientClosedError(KafkaError):
    """A client was used after its `close()`, or in a child process after a fork."""


class ConcurrentUseError(KafkaError):
    """An object that allows one thread at a time was entered by a second one."""


class TransactionError(KafkaError):
    """A transaction cannot go on because of the error that is its `__cause__`.

    `abortable`: abort it, and the next one may begin; else this producer can no longer be used, close it.
    """

    def __init__(self, message: str = "", *, abortable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.abortable = abortable

    def __reduce__(self) -> tuple[Any, ...]:
        return _transaction_error, (type(self), self.message, self.abortable)


def _transaction_error(kind: type[TransactionError], message: str, abortable: bool) -> TransactionError:
    return kind(message, abortable=abortable)


class TransactionStateError(KafkaError):
    """A call that does not fit the state of the transaction: a send outside of one, a commit of none."""


class TransactionAbortedError(KafkaError):
    """A record that was not sent, because its transaction was aborted."""


class UnsupportedError(KafkaError, AttributeError):
    """A call that kwire does not have; the text says what to use instead. `hasattr` is False for it."""


class DeliveryError(KafkaError, ExceptionGroup[Exception]):
    """Records that a `flush()` or `close()` could not deliver; `.exceptions` holds one cause per failed batch."""

    def derive(self, excs: Any) -> DeliveryError:  # type: ignore[override]
        return DeliveryError(self.message, excs)


class RegistryError(KafkaError):
    """A schema registry that does not answer as one within the time, or refuses to.

    `status` is that of HTTP, `error_code` the registry's own; None where there was no such answer.
    """

    def __init__(self, message: str = "", *, status: int | None = None, error_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_code = error_code

    def __reduce__(self) -> tuple[Any, ...]:
        return _registry_error, (type(self), self.message, self.status, self.error_code)


def _registry_error(
    kind: type[RegistryError], message: str, status: int | None, error_code: int | None
) -> RegistryError:
    return kind(message, status=status, error_code=error_code)


class UnknownSchemaError(RegistryError):
    """An id, subject or version that the registry does not have, or not as a schema of the kind asked for."""


class IncompatibleSchemaError(RegistryError):
    """A schema that the registry does not take, since the compatibility of its subject forbids it."""


class SerializationError(KafkaError):
    """A key or value that a serializer cannot write, or a deserializer cannot read.

    `topic`, and `field`, "key" or "value". Of a record that was read also `partition`, `offset`, the bytes, `raw`, and
    `seek_to`, the offset after it. What is not known is None.
    """

    def __init__(
        self,
        message: str = "",
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        field: str | None = None,
        raw: bytes | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.field = field
        self.raw = raw

    @property
    def seek_to(self) -> int | None:
        return None if self.offset is None else self.offset + 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _serialization_error, (type(self), self.message, vars(self))


def _serialization_error(kind: type[SerializationError], message: str, place: Mapping[str, Any]) -> SerializationError:
    made = kind(message)
    vars(made).update(place)
    return made


class BrokerError(KafkaError):
    """An error code in a broker's answer. Its classes, one per code, are in `kwire.errors.broker`.

    `api_key` is that of an API that a broker does not offer, in a version that is needed; None of other errors.
    """

    api_key: int | None = None

    code: ClassVar[int] = -1
    name: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    retriable: ClassVar[bool] = False
    stale_metadata: ClassVar[bool] = False
    text: ClassVar[str] = "the broker failed in a way it has no code for; its log says more"

    def __init__(self, context: str = "") -> None:
        super().__init__(context)
        self.context = context

    def __str__(self) -> str:
        what = f"{self.name} ({self.code}): {self.text}"
        if not self.context:
            return what
        from kwire.errors.wording import joined

        return joined(": ", (self.context, what))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in ("broker", "history"):
            from importlib import import_module

            return import_module(f"kwire.errors.{name}")
        if name == "ProducerFencedError":
            from kwire.errors.broker import ProducerFencedError

            return ProducerFencedError
        from kwire.errors.elsewhere import missing_error

        raise missing_error(name)
