"""One class per error code: names, flags, lookups, and codes that kwire does not know."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from kwire import errors
from kwire.errors import broker

# From the error tables of the 0.10.1 guide: code and retriable, under the names that Kafka 4.4 has for them.
GUIDE = """-1 UNKNOWN_SERVER_ERROR, 1 OFFSET_OUT_OF_RANGE, 2 CORRUPT_MESSAGE *, 3 UNKNOWN_TOPIC_OR_PARTITION *,
4 INVALID_FETCH_SIZE, 5 LEADER_NOT_AVAILABLE *, 6 NOT_LEADER_OR_FOLLOWER *, 7 REQUEST_TIMED_OUT *,
8 BROKER_NOT_AVAILABLE, 10 MESSAGE_TOO_LARGE, 11 STALE_CONTROLLER_EPOCH, 12 OFFSET_METADATA_TOO_LARGE,
13 NETWORK_EXCEPTION *, 14 COORDINATOR_LOAD_IN_PROGRESS *, 15 COORDINATOR_NOT_AVAILABLE *, 16 NOT_COORDINATOR *,
17 INVALID_TOPIC_EXCEPTION, 18 RECORD_LIST_TOO_LARGE, 19 NOT_ENOUGH_REPLICAS *, 20 NOT_ENOUGH_REPLICAS_AFTER_APPEND *,
21 INVALID_REQUIRED_ACKS, 35 UNSUPPORTED_VERSION, 36 TOPIC_ALREADY_EXISTS, 41 NOT_CONTROLLER *, 42 INVALID_REQUEST"""


@pytest.mark.parametrize("row", [row.strip() for row in GUIDE.replace("\n", " ").split(",")])
def test_codes_of_the_guide(row: str) -> None:
    code, name, *flag = row.split()
    found = broker.by_code(int(code))
    assert (found.code, found.name, found.retriable) == (int(code), name, bool(flag))


def test_every_code_has_a_class_a_name_and_a_text() -> None:
    classes = [broker.by_code(code) for code in range(-1, 137)]
    assert [cls.code for cls in classes] == list(range(-1, 137))
    assert len({cls.__name__ for cls in classes}) == 138
    for cls in classes:
        assert issubclass(cls, errors.BrokerError)
        assert getattr(broker, cls.name) is cls is getattr(broker, cls.__name__)
        assert cls.text
        assert cls.retriable or not cls.stale_metadata


def test_the_stub_has_the_classes_that_there_are() -> None:
    stub = Path(broker.__file__).with_suffix(".pyi").read_text()
    classes = re.findall(r"^class (\w+)\(BrokerError\)", stub, re.M)
    aliases = dict(re.findall(r"^(\w+) = (\w+)$", stub, re.M))
    made = [broker.by_code(code) for code in range(-1, 137)]
    assert classes == [cls.__name__ for cls in made]
    assert aliases == {cls.name: cls.__name__ for cls in made}


def test_the_exception_names_code_and_context() -> None:
    error = broker.error_for(6, "broker 2, topic t, partition 3")
    assert isinstance(error, broker.NotLeaderOrFollowerError)
    assert isinstance(error, broker.NOT_LEADER_OR_FOLLOWER)
    assert str(error).startswith("broker 2, topic t, partition 3: NOT_LEADER_OR_FOLLOWER (6): ")
    assert (error.retriable, error.stale_metadata) == (True, True)


@pytest.mark.parametrize("code", [137, 999, 32767, -2, -32768])
def test_a_code_that_is_not_known_carries_its_number(code: int) -> None:
    error = broker.error_for(code, "broker 1")
    assert isinstance(error, broker.UnknownServerError)
    assert (error.code, error.retriable) == (code, False)
    assert str(code) in str(error)
    assert pickle.loads(pickle.dumps(error)).code == code


def test_errors_pickle() -> None:
    error = pickle.loads(pickle.dumps(broker.error_for(3, "here")))
    assert isinstance(error, broker.UnknownTopicOrPartitionError)
    assert error.context == "here"


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError, match="NoSuchError"):
        broker.NoSuchError  # type: ignore[attr-defined]  # noqa: B018


def test_an_auth_error_pickles_and_says_where() -> None:
    error = errors.AuthError(broker="broker 1 (a:1)", step="SaslHandshake", reason="no such mechanism")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "broker 1 (a:1), SaslHandshake: no such mechanism"
    assert (copy.broker, copy.step, copy.reason) == ("broker 1 (a:1)", "SaslHandshake", "no such mechanism")
