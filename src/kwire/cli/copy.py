"""`kwire copy`: a topic to another cluster, also one of Kafka 0.7, from its brokers or its log files.

From cluster to cluster it is `copy_clusters.py` that copies; the rest here is about 0.7.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from kwire.cli.connecting import add_client_options, add_compression_option, opened, producing, waiting
from kwire.cli.interrupting import sigterm_as_interrupt
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import Commands, UsageError, usage_errors
from kwire.errors import BrokerError, CodecError, UnknownTopicError
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.cli.copying import Resumption, Source
    from kwire.engine.common.addresses import TopicPartition
    from kwire.legacy import Client, Message, Position
    from kwire.producer import Producer

_EPILOG = """\
examples:
  kwire copy --from kafka://old:9092/orders --to new:9092/orders
  kwire copy --from kafka://old:9092/orders --to new:9092/orders --follow --from-config old.properties
  kwire copy --from kafka-0.7://old:9092/clicks --to new:9092/clicks
  kwire copy --from kafka-0.7://old1:9092,old2:9092/clicks --to new:9092/clicks
                                        every partition of every broker; each goes to one partition of the new topic
  kwire copy --from /var/kafka-logs/clicks-0 --from /var/kafka-logs/clicks-1 --to new:9092/clicks
                                        the folders of a broker that has stopped for good

Run it again after an interruption: it continues where it stopped, and nothing is lost or duplicated. For that the
brokers that are copied to have to be Kafka 0.11 or newer.

From cluster to cluster records keep their partition, timestamp and headers. They are written in transactions, together
with how far the copy is, which is kept as offsets of a group of the new cluster, 'kwire.copy CLUSTER/TOPIC': consumers
that read committed see each record once. A topic that does not exist is created with as many
partitions. --config and -X are for both clusters, unless --from-config is given.

Of Kafka 0.7 each record carries a header kwire.copy with its old position. A topic that does not exist is created with
one partition per source. There are no times: the records get the time at which they are copied.

A message that cannot be read (its checksum does not match, say) ends the copy. --skip-corrupt leaves it out: its
place and size are reported on stderr. Where not even its length can be right, nothing says where the next one
begins, and the copy goes on with the next segment of the log.
"""
_KAFKA = "kafka://"
_PROGRESS_EVERY = 1.0
_FOR_EVER = str(2**31 - 1)
_MAX_SEGMENTS = 1 << 16


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "copy",
        help="copy a topic to another cluster, also from Kafka 0.7",
        description="Copies a topic to another cluster, also one of Kafka 0.7; may be interrupted and run again.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--from",
        dest="sources",
        action="append",
        required=True,
        metavar="SOURCE",
        help="kafka://HOST:PORT,.../TOPIC; of Kafka 0.7 kafka-0.7://HOST:PORT,.../TOPIC, or the folder of a log, which "
        "may be repeated",
    )
    parser.add_argument("--to", required=True, metavar="HOST:PORT,.../TOPIC", help="where the records go")
    parser.add_argument("--from-config", metavar="FILE", help="settings for the cluster that is copied from")
    parser.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument(
        "--start",
        metavar="WHERE",
        help="where partitions begin of which nothing was copied yet: earliest (default), latest, -1h, or a time",
    )
    add_compression_option(parser)
    parser.add_argument(
        "--skip-corrupt", action="store_true", help="leave out what cannot be read, and say on stderr what that was"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_client_options(parser, "producer", "copy --from kafka-0.7://old:9092/clicks --to new:9093/clicks")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Copies source after source; a record that cannot be written ends it with its error."""
    clusters = [text for text in options.sources if text.startswith(_KAFKA)]
    if clusters:
        return _between_clusters(options, clusters)
    if options.follow or options.start is not None or options.from_config is not None:
        raise UsageError("--follow, --start and --from-config are for copies from kafka://HOST:PORT/TOPIC")
    return _from_07(options)


def _between_clusters(options: argparse.Namespace, sources: list[str]) -> int:
    from kwire.cli.copy_clusters import Place, copy_between, start_of

    if len(options.sources) > 1:
        raise UsageError(f"--from {sources[0]!r} cannot be copied together with others: run the command for each")
    if options.start is not None:
        start_of(options.start)
    with sigterm_as_interrupt(), trouble_on_stderr("copy"):
        return copy_between(options, Place(*_place("--from", sources[0])), Place(*_place("--to", options.to)))


def _from_07(options: argparse.Namespace) -> int:
    from kwire.admin import Admin
    from kwire.cli.copying import placed, without_damage
    from kwire.consumer import Consumer
    from kwire.producer import Producer

    servers, topic = _place("--to", options.to)
    with trouble_on_stderr("copy"), ExitStack() as stack:
        producer = stack.enter_context(
            opened(Producer, options, servers, {"delivery.timeout.ms": _FOR_EVER}, **producing(options))
        )
        sources = [source for text in options.sources for source in _sources(text, options, stack)]
        skipped = _Skipped()
        if options.skip_corrupt:
            sources = [without_damage(source, skipped.add) for source in sources]
        if len({source.name for source in sources}) < len(sources):
            raise UsageError(f"--from names a partition twice: {', '.join(source.name for source in sources)}")
        admin = stack.enter_context(opened(Admin, options, servers, shared=True, **waiting(options)))
        count = _partition_count(admin, topic, len(sources))
        settings = {"allow_auto_create_topics": False, **waiting(options)}
        consumer = stack.enter_context(opened(Consumer, options, servers, shared=True, **settings))
        places = placed(consumer, topic, count, [source.name for source in sources])
        total = sum(_copy_one(source, *places[source.name], producer, options.quiet) for source in sources)
    print(f"{counted(total, 'record')} to {topic}{skipped}", file=sys.stderr)
    return 0


def _copy_one(source: Source, place: TopicPartition, resumption: Resumption, producer: Producer, quiet: bool) -> int:
    from kwire.cli.copying import copy, damage_of

    progress = _Progress(source, quiet)
    try:
        sent = copy(source, resumption, producer, place, progress=progress.add)
    except CodecError as error:
        if damage_of(error) is not None:
            error.message += "; --skip-corrupt leaves it out"
        raise
    progress.finish(sent, place)
    return sent


def _place(option: str, text: str) -> tuple[str, str]:
    servers, slash, topic = text.removeprefix(_KAFKA).partition("/")
    if not slash or not servers or not topic or "/" in topic:
        scheme = _KAFKA if option == "--from" else ""
        raise UsageError(f"{option} {text!r}: write {scheme}HOST:PORT/TOPIC, as in {scheme}new:9092/clicks")
    return servers, topic


def _sources(text: str, options: argparse.Namespace, stack: ExitStack) -> Iterator[Source]:
    from kwire.legacy import Client

    scheme, colon, _ = text.partition("://")
    if not colon and not Path(text).exists():
        raise UsageError(f"--from {text!r}: no such folder; a topic is kafka://HOST:PORT/TOPIC")
    if not colon or scheme == "file":
        yield _folder(Path(unquote(urlsplit(text).path)) if colon else Path(text))
        return
    servers, slash, topic = text.removeprefix(f"{scheme}://").partition("/")
    if scheme != "kafka-0.7" or not slash or not servers or not topic:
        raise UsageError(
            f"--from {text!r}: write kafka://HOST:PORT/TOPIC, of Kafka 0.7 kafka-0.7://HOST:PORT/TOPIC or a folder"
        )
    settings = {} if options.timeout is None else {"request_timeout_ms": round(options.timeout * 1000)}
    with usage_errors():
        client = stack.enter_context(Client(servers, **settings))
    found = [source for address in client.brokers for source in _partitions(client, topic, address)]
    if all(source.end() == 0 for source in found):
        raise UnknownTopicError(f"topic {topic!r} has no messages on {servers}")
    yield from found


def _partitions(client: Client, topic: str, broker: Any) -> Iterator[Source]:
    """0.7 has no list of partitions: a partition exists if a fetch from it is not refused; they count from 0."""
    from kwire.cli.copying import Source

    number = 0
    while True:
        try:
            client.fetch(topic, number, max_bytes=1, broker=broker)
        except UnknownTopicError:
            return
        except (BrokerError, CodecError):
            pass  # the log begins later, or its first message is larger: the partition is there
        here = {"topic": topic, "partition": number, "broker": broker}
        name = f"{broker}/{topic}/{number}"
        yield Source(
            name, partial(_read, client, here), partial(_end, client, here), partial(_next_segment, client, here)
        )
        number += 1


def _read(client: Client, here: dict[str, Any], start: Position | None) -> Iterator[Message]:
    return client.messages(**here, start="earliest" if start is None else start)


def _end(client: Client, here: dict[str, Any]) -> int:
    return client.offsets(**here)[0]


def _next_segment(client: Client, here: dict[str, Any], offset: int) -> int:
    later = [start for start in client.offsets(**here, max_offsets=_MAX_SEGMENTS) if start > offset]
    if not later:
        raise UnknownTopicError(f"topic {here['topic']!r} partition {here['partition']} no longer reaches {offset}")
    return min(later)


def _folder(path: Path) -> Source:
    from kwire.cli.copying import Source
    from kwire.legacy import segments

    found = segments(path)
    newest = found[-1]

    def read(start: Position | None) -> Iterator[Message]:
        for segment in found:
            if start is None or segment.end_offset > start.offset:
                end = yield from segment.messages(start, is_last=segment is newest)
                if segment.end_offset > end:
                    left = f"the last {segment.end_offset - end:,} bytes are not a whole message and are left out"
                    print(f"\r{segment.path}: {left}", file=sys.stderr)

    def next_segment(offset: int) -> int:
        return min(segment.end_offset for segment in found if segment.end_offset > offset)

    return Source(path.resolve().name, read, lambda: newest.end_offset, next_segment)


def _partition_count(admin: Admin, topic: str, wanted: int) -> int:
    try:
        return len(admin.describe_topics([topic])[topic].partitions)
    except UnknownTopicError:
        admin.create_topics({topic: wanted})
        return wanted


class _Skipped:
    """What was left out: each place as it is met, and how much it was in all."""

    def __init__(self) -> None:
        self._places = self._bytes = 0

    def add(self, error: CodecError, resumed_at: int) -> None:
        size = resumed_at - (error.record_offset or 0)
        self._places += 1
        self._bytes += size
        what = "the rest of its segment" if error.seek_to is None else "a message"
        print(f"\rleft out: {what}, {size:,} bytes up to {resumed_at}: {error.message}", file=sys.stderr)

    def __str__(self) -> str:
        return f"; damaged and left out: {self._places}, of {self._bytes:,} bytes" if self._places else ""


class _Progress:
    """One line per source on stderr, written anew every second where that is a terminal."""

    def __init__(self, source: Source, quiet: bool) -> None:
        self._source = source
        self._write: Callable[[str], object] = (lambda text: None) if quiet else sys.stderr.write
        self._begun = self._told = time.monotonic()
        self._records = self._bytes = 0

    def add(self, records: int, size: int, position: int) -> None:
        self._records += records
        self._bytes += size
        now = time.monotonic()
        if now - self._told >= _PROGRESS_EVERY:
            self._told = now
            end = max(self._source.end(), 1)
            rate = self._records / max(now - self._begun, 1e-9)
            self._write(
                f"\r{self._source.name}: {counted(self._records, 'record', spec=',')}, {self._bytes / 1e6:,.1f} MB, "
                f"{rate:,.0f}/s, "
                f"{100 * position / end:.0f} %  "
            )

    def finish(self, sent: int, place: object) -> None:
        self._write(
            f"\r{self._source.name} -> {place}: {counted(sent, 'record', spec=',')}, "
            f"{self._bytes / 1e6:,.1f} MB, done\n"
        )
