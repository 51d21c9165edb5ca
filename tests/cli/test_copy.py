"""`kwire copy`: a 0.7 topic on a newer broker, whole and in order, however often the copy was killed on its way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kwire import records
from kwire.cli.copying import HEADER, Resumption, Source, Stamp, copy
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import CorruptError
from kwire.legacy import Client, Message, Position
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.thorough import THOROUGH

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
CODECS = ("none", "gzip", "snappy")


@pytest.fixture
def old() -> Iterator[Broker]:
    with Broker(generation="0.7", num_partitions=2, log_file_size=100_000) as running:
        yield running


def fill(old: Broker, partition: int, count: int, first: int = 0) -> list[bytes]:
    """`count` messages in sets of 1 to 50 of every codec, appended to clicks."""
    values = [b"%d:%d" % (partition, first + number) for number in range(count)]
    at = number = 0
    while at < count:
        some = values[at : at + 1 + number * 7 % 50]
        content = records.encode(some, generation="0.7", compression=CODECS[number % 3])
        old.append("clicks", content, partition=partition)
        at += len(some)
        number += 1
    return values


def copied(broker: Broker, partition: int, topic: str = "clicks") -> list[bytes | None]:
    return records.decode(broker.record_set(topic, partition=partition)).values()


def source_of(old: Broker, topic: str = "clicks") -> str:
    return f"kafka-0.7://{old.bootstrap_servers}/{topic}"


def test_a_topic_moves_with_its_order(kwire: Kwire, broker: Broker, old: Broker) -> None:
    sent = [fill(old, partition, 1000) for partition in (0, 1)]
    done = kwire("copy", "--from", source_of(old), "--to", f"{broker.bootstrap_servers}/clicks")
    assert done.code == 0
    assert done.err.endswith("2000 records to clicks\n")
    assert broker.topics()["clicks"] == 2
    assert [copied(broker, partition) for partition in (0, 1)] == sent
    first = records.decode(broker.record_set("clicks"))[0]
    name, stamp = first.headers[0]
    assert name == HEADER
    assert Stamp.decode(stamp) == (f"{old.bootstrap_servers}/clicks/0", Position(0), Position(13))


def test_a_second_run_takes_what_is_new(kwire: Kwire, broker: Broker, old: Broker) -> None:
    to = f"kafka://{broker.bootstrap_servers}/clicks"
    sent = [fill(old, partition, 300) for partition in (0, 1)]
    assert "600 records" in kwire("copy", "--from", source_of(old), "--to", to).err
    assert "\n0 records to clicks\n" in kwire("copy", "--from", source_of(old), "--to", to).err
    sent[1] += fill(old, 1, 50, 300)
    again = kwire("copy", "--quiet", "--from", source_of(old), "--to", to)
    assert again.err == "50 records to clicks\n"
    assert [copied(broker, partition) for partition in (0, 1)] == sent


def test_sources_may_share_a_partition_with_others(kwire: Kwire, broker: Broker, old: Broker) -> None:
    sent = [fill(old, partition, 400) for partition in (0, 1)]
    broker.create_topic("one", 1)
    broker.append("one", records.encode([b"somebody else's"]))
    to = f"{broker.bootstrap_servers}/one"
    assert kwire("copy", "--from", source_of(old), "--to", to).code == 0
    broker.append("one", records.encode([b"somebody else's"] * 20))
    assert "\n0 records to one\n" in kwire("copy", "--from", source_of(old), "--to", to).err
    assert copied(broker, 0, "one") == [b"somebody else's", *sent[0], *sent[1], *[b"somebody else's"] * 20]


def test_a_source_goes_on_where_it_began(kwire: Kwire, broker: Broker, old: Broker, tmp_path: Path) -> None:
    """Although other sources, or another order of them, would give it another partition."""
    folders = []
    sent = [fill(old, partition, 200) for partition in (0, 1)]
    for partition in (0, 1):
        folder = tmp_path / f"clicks-{partition}"
        folder.mkdir()
        (folder / f"{0:020d}.kafka").write_bytes(old.record_set("clicks", partition=partition))
        folders.append(str(folder))
    to = f"{broker.bootstrap_servers}/clicks"
    assert kwire("copy", "--from", folders[0], "--from", folders[1], "--to", to).code == 0
    assert "\n0 records to clicks\n" in kwire("copy", "--from", folders[1], "--to", to).err
    assert "\n0 records to clicks\n" in kwire("copy", "--from", folders[1], "--from", folders[0], "--to", to).err
    sent[1] += (more := [b"more", b"and more"])
    with Path(folders[1], f"{0:020d}.kafka").open("ab") as log:
        log.write(records.encode(more, generation="0.7"))
    assert "2 records" in kwire("copy", "--from", folders[1], "--to", to).err
    assert [copied(broker, partition) for partition in (0, 1)] == sent


def test_folders_are_read_by_the_same_code(kwire: Kwire, broker: Broker, old: Broker, tmp_path: Path) -> None:
    sent = fill(old, 0, 500)
    with Client(old.bootstrap_servers) as client:
        starts = sorted(client.offsets("clicks", max_offsets=999))
    log = old.record_set("clicks")
    folder = tmp_path / "clicks-0"
    folder.mkdir()
    for begin, end in pairwise(starts):
        (folder / f"{begin:020d}.kafka").write_bytes(log[begin:end])
    to = f"{broker.bootstrap_servers}/clicks"
    assert "500 records" in kwire("copy", "--from", str(folder), "--to", to).err
    assert copied(broker, 0) == sent
    assert "\n0 records" in kwire("copy", "--from", folder.as_uri(), "--to", to).err


@pytest.mark.parametrize(
    ("source", "to", "text"),
    [
        ("http://h:1/t", "h:1/t", "write kafka://HOST:PORT/TOPIC, of Kafka 0.7 kafka-0.7://HOST:PORT/TOPIC"),
        ("kafka-0.7://h:1", "h:1/t", "of Kafka 0.7 kafka-0.7://HOST:PORT/TOPIC"),
        ("kafka://h:1", "h:1/t", "write kafka://HOST:PORT/TOPIC, as in kafka://new:9092/clicks"),
        ("h:1/t", "h:1/t", "a topic is kafka://HOST:PORT/TOPIC"),
        ("kafka-0.7://h:1/t", "h:1", "write HOST:PORT/TOPIC, as in new:9092/clicks"),
    ],
)
def test_what_cannot_be_meant(kwire: Kwire, source: str, to: str, text: str) -> None:
    done = kwire("copy", "--from", source, "--to", to)
    assert done.code == 2
    assert text in done.err


def test_a_folder_that_is_no_log(kwire: Kwire, tmp_path: Path) -> None:
    done = kwire("copy", "--from", str(tmp_path), "--to", "h:1/t")
    assert done.code == 1
    assert "no segment of Kafka 0.7" in done.err


def test_compression_of_a_copy(kwire: Kwire, broker: Broker, old: Broker) -> None:
    fill(old, 0, 50)
    arguments = ("copy", "--from", source_of(old), "--to", f"{broker.bootstrap_servers}/clicks")
    assert kwire(*arguments, "-X", "compression.type=lz4").code == 0
    stored = records.decode(broker.record_set("clicks", partition=0))
    assert {batch.compression for batch in stored.batches} == {"lz4"}


def test_an_old_broker_that_does_not_answer(kwire: Kwire, broker: Broker, old: Broker) -> None:
    fill(old, 0, 10)
    old.faults.mute("Fetch", times=None)
    to = f"{broker.bootstrap_servers}/clicks"
    done = kwire("copy", "--from", source_of(old), "--to", to, "--timeout", "0.3")
    assert done.code == 1
    assert "no answer within 0.3 s" in done.err


def test_a_topic_without_messages_is_named(kwire: Kwire, broker: Broker, old: Broker) -> None:
    done = kwire("copy", "--from", source_of(old, "nothing"), "--to", f"{broker.bootstrap_servers}/t")
    assert done.code == 1
    assert "topic 'nothing' has no messages" in done.err
    assert "t" not in broker.topics()


@pytest.mark.parametrize("present_first", [0, 5])
def test_a_gap_in_the_last_window_is_filled(kwire: Kwire, broker: Broker, old: Broker, present_first: int) -> None:
    """A batch that failed while later ones were stored: what a run that dies at the wrong moment can leave."""
    sent = fill(old, 0, 60)
    to = f"{broker.bootstrap_servers}/clicks"
    broker.create_topic("clicks", 2)
    with Client(old.bootstrap_servers) as client:
        found = list(client.messages("clicks", 0))
    name = f"{old.bootstrap_servers}/clicks/0"
    kept = [*found[present_first:20], *found[30:40]]
    items = [(each.value, None, 1, [(HEADER, Stamp(name, each.position, each.next).encode())]) for each in kept]
    broker.append("clicks", records.encode(items))
    done = kwire("copy", "--from", source_of(old), "--to", to)
    assert done.err.endswith(f"{30 + present_first} records to clicks\n")
    assert sorted(value or b"" for value in copied(broker, 0)) == sorted(sent)


def test_resumption_by_hand() -> None:
    def stamp(here: tuple[int, int], behind: tuple[int, int]) -> Stamp:
        return Stamp("s", Position(*here), Position(*behind))

    whole = [stamp((0, 0), (12, 0)), stamp((12, 0), (12, 1)), stamp((12, 1), (40, 0))]
    assert Resumption.after([]) == Resumption()
    assert Resumption.after(whole) == Resumption(Position(40))
    assert Resumption.after(whole[:2]) == Resumption(Position(12, 1))
    assert Resumption.after([whole[0], whole[2]]) == Resumption(Position(12), {Position(12, 1)})
    assert Resumption.after([whole[2]], first_window=True) == Resumption(None, {Position(12, 1)})


class Writing:
    """A producer that writes down what it is asked to do."""

    def __init__(self) -> None:
        self.done: list[bytes | str] = []

    def send(self, topic: str, value: bytes, **options: Any) -> None:
        self.done.append(value)

    def flush(self) -> None:
        self.done.append("flush")


def test_gaps_are_filled_before_anything_new_is_sent() -> None:
    """So that a gap is always among the newest records, however often filling it was interrupted."""
    messages = [Message(Position(at), b"%d" % at, Position(at + 1)) for at in range(6)]
    source = Source("s", lambda start: iter(messages), lambda: 6, lambda offset: 6)
    producer: Any = Writing()
    told: list[tuple[int, int, int]] = []
    sent = copy(
        source, Resumption(None, {Position(1), Position(3)}), producer, TopicPartition("t", 0),
        progress=lambda *numbers: told.append(numbers),
    )  # fmt: skip
    assert producer.done == [b"0", b"2", "flush", b"4", b"5", "flush"]
    assert (sent, told) == (4, [(2, 2, 4), (2, 2, 6)])


@pytest.mark.parametrize("content", [b"", b"a b", b"a 1 2", b"a 1+x 2+0", b"\xff 1+0 2+0"])
def test_a_foreign_mark_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptError, match="not a mark of a copy"):
        Stamp.decode(content)


def test_nothing_is_lost_or_doubled_by_kills(broker: Broker, old: Broker) -> None:
    sent = [fill(old, partition, 25_000 if THOROUGH else 11_000) for partition in (0, 1)]
    command = [
        sys.executable, "-m", "kwire", "copy",
        "--from", source_of(old), "--to", f"{broker.bootstrap_servers}/clicks", "-X", "linger.ms=1",
    ]  # fmt: skip
    kills, wanted = 0, 4 if THOROUGH else 2
    broker.faults.delay("Produce", 0.02, times=None)  # so that no copy comes to its end before it is killed
    for number in range(wanted + 1):
        if number == wanted:
            broker.faults.clear()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCE})
        before = broker.request_count("Produce")
        give_up = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < give_up:
            if kills < wanted and broker.request_count("Produce") - before > 1 + number % 4:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.001)
        _, told = process.communicate(timeout=60)
        assert process.returncode == (0 if number == wanted else -signal.SIGKILL), told.decode()
    assert [copied(broker, partition) for partition in (0, 1)] == sent
