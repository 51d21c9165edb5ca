"""Messages of logs and group members: what is written is read again, and damage is said, never raised."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kwire import errors, protocol
from kwire.schema.logs.base import MetadataRecord, RecordKey
from kwire.schema.logs.parts import LogPart
from tests.each import case, each
from tests.schema.log_messages import CLASSES, IDS, LOG_MESSAGES
from tests.schema.messages.every import EXAMPLES
from tests.schema.messages.strategies import structs
from tests.schema.messages.typical import typical
from tests.schema.test_mutations import damaged
from tests.thorough import THOROUGH

_DAMAGED = 60 if THOROUGH else 10
_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")


@pytest.mark.parametrize(("cls", "version"), LOG_MESSAGES, ids=IDS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_decoding_gives_back_what_was_encoded(cls: Any, version: int, data: Any) -> None:
    message = data.draw(structs(cls, version))
    encoded = message.encode(version)
    decoded = cls.decode(encoded, version)
    assert decoded == message
    assert decoded.encode(version) == encoded
    assert cls.from_dict(decoded.to_dict()) == message


@each("cls", CLASSES)
def test_defaults_survive(cls: Any) -> None:
    for version in cls.__versions__:
        with case("version", version):
            assert cls.decode(cls().encode(version), version) == cls()


def _topic_of(cls: Any) -> str:
    room = cls.__module__.rpartition(".")[2]
    special = {"transaction_state": "__transaction_state", "share_state": "__share_group_state"}
    return special.get(room, "__consumer_offsets")


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if issubclass(cls, RecordKey)], ids=lambda cls: cls.__name__)
@settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.generate], derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_damaged_records_of_coordinators(cls: Any, seed: int) -> None:
    value_class = getattr(protocol.logs, cls.__name__.removesuffix("Key") + "Value")
    rng = random.Random(seed)
    version = rng.choice(value_class.__versions__)
    key, value = typical(cls, 0).to_log(), typical(value_class, version).to_log(version)
    seen: Counter[str] = Counter()
    for _ in range(_DAMAGED):
        read = protocol.decode_log_record(_topic_of(cls), damaged(key, rng), damaged(value, rng))
        assert read is not None
        seen.update(_judged(part) for part in read)
    assert sum(seen.values()) == 2 * _DAMAGED


@each("cls", [cls for cls in CLASSES if issubclass(cls, MetadataRecord)])
def test_damaged_records_of_controllers(cls: Any) -> None:
    rng = random.Random(cls.__name__)
    remote = cls.__module__.endswith("remote_log_metadata")
    topic = "__remote_log_metadata" if remote else "__cluster_metadata"
    version = cls.__versions__[-1]
    value = typical(cls, version).to_log(version)
    for _ in range(200 if THOROUGH else 30):
        read = protocol.decode_log_record(topic, None, damaged(value, rng))
        assert read is not None
        assert _judged(read.value) in ("read", "refused")


def test_random_bytes_as_records() -> None:
    rng = random.Random(5)
    for _ in range(20_000 if THOROUGH else 2_000):
        topic = rng.choice(_TOPICS)
        key, value = (rng.randbytes(rng.randint(0, 24)) for _ in range(2))
        read = protocol.decode_log_record(topic, b"\0" + key, b"\0" + value, is_control=rng.random() < 0.2)
        assert read is not None
        assert {_judged(part) for part in read} <= {"read", "refused"}


def _judged(part: LogPart | None) -> str:
    """What became of a part; that it says so as `LogPart` promises is asserted."""
    assert part is not None
    assert (part.message is None) == (part.problem is not None)
    assert 0 <= part.start <= part.end <= len(part.data)
    if part.problem is None:
        assert part.message is not None
        assert part.version is not None
        part.message.encode(part.version)
        return "read"
    assert isinstance(part.problem, errors.CodecError)
    assert part.problem.offset is None or 0 <= part.problem.offset <= len(part.data)
    return "refused"


def test_secrets_of_the_log_are_not_shown() -> None:
    credential = protocol.logs.UserScramCredentialRecord(name="alice", salt=b"s1", stored_key=b"k1", server_key=b"k2")
    setting = protocol.logs.ConfigRecord(name="ssl.key.password", value="hush")
    for shown in (repr(credential), repr(setting)):
        assert "<secret>" in shown
        assert not {"s1", "k1", "k2", "hush"} & {piece for piece in ("s1", "k1", "k2", "hush") if piece in shown}
