"""`kwire dump`: what is in the files of a broker's log directories, without the broker."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from kwire.cli.compressed_files import HEAD_SIZE, MAX_INPUT, read_limited, unzipped
from kwire.cli.dumping.kinds import KINDS, OF_RECORDS, SEGMENT, DumpFile, classified, files_under
from kwire.cli.dumping.writing import FORMS
from kwire.cli.terminal import print_error
from kwire.cli.usage import Commands, natural
from kwire.errors import ConfigError
from kwire.log_files.storage import FileInfo, LocalStorage, OpenFile, Storage

if TYPE_CHECKING:
    from kwire.cli.dumping.segments import Wanted

_EPILOG = """\
examples:
  kwire dump /var/lib/kafka/orders-0               all files of a partition: batches, indexes, producers, epochs
  kwire dump --records 00000000000000000000.log    each batch with its records
  kwire dump --records --json __cluster_metadata-0 | jq 'select(.value.message == "TopicRecord").value.fields'
  kwire dump --records --from 1500 --to 1510 orders-0/*.log
  kwire dump --output value orders-0 > values      the bytes of the values, a line each
  gzip -dc old.log.gz | kwire dump -               a segment from standard input

Segments of every release are read (message sets of magic 0 and 1, record batches, Kafka 0.7 by the ending .kafka),
snapshots of the KRaft metadata, .index, .timeindex, .txnindex, .snapshot, checkpoints, meta.properties and the like.
Records of Kafka's own topics (__consumer_offsets, __transaction_state, __share_group_state, __cluster_metadata,
__remote_log_metadata) are shown as the messages that they hold, their secrets masked unless --secrets is given.

Damage is told with its byte, on standard error and in its place, and what follows it is read. For every byte of a
batch explained, see 'kwire decode'.
"""
_FAILED, _NOT_ALL = 1, 3


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "dump",
        help="show the files of a broker's log directories",
        description="Shows log segments, snapshots, indexes and checkpoints of a broker's log directories.",
        epilog=_EPILOG,
    )
    parser.add_argument("paths", nargs="+", metavar="FILE|DIR", help="files, folders at any depth, or - for a segment")
    parser.add_argument(
        "-r", "--records", "--deep", action="store_true", help="show the records, too, not only their batches"
    )
    parser.add_argument("--from", dest="first", type=natural, default=0, metavar="OFFSET", help="from this offset on")
    parser.add_argument("--to", dest="before", type=natural, metavar="OFFSET", help="up to this offset, without it")
    parser.add_argument("--as", dest="kind", choices=KINDS, help="what files are whose names do not say it")
    parser.add_argument("--topic", metavar="TOPIC", help="the topic, where the name of the folder does not say it")
    parser.add_argument("--no-crc", action="store_true", help="do not check the checksums")
    parser.add_argument("--secrets", action="store_true", help="show secrets, too")
    parser.add_argument("--output", choices=FORMS, default="table", help="how rows are printed (default: %(default)s)")
    parser.add_argument(
        "--json", dest="output", action="store_const", const="json", help="--output json: one object per line"
    )
    parser.add_argument(
        "--max-input",
        type=natural,
        default=MAX_INPUT,
        metavar="BYTES",
        help="read no more of gzip data or standard input (default %(default)s)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 where every file could be read, 1 where nothing could be, 3 where there was damage."""
    from kwire.cli.dumping.segments import Wanted

    before = {} if options.before is None else {"before": options.before}
    with_records = options.records or options.output == "value"
    wanted = Wanted(options.first, **before, with_records=with_records, secrets=options.secrets,
                    check_crc=not options.no_crc)  # fmt: skip
    rows = damage = 0
    for path, file in _files(options):
        found, damaged = (0, 1) if file is None else _dump(options, file, wanted)
        if file is None:
            print_error(f"kwire dump: {path}: {_why_not(path)}")
        rows, damage = rows + found, damage + damaged
    return 0 if not damage else _NOT_ALL if rows else _FAILED


def _files(options: argparse.Namespace) -> Iterator[tuple[str, DumpFile | None]]:
    for path in options.paths:
        if path == "-":
            yield path, DumpFile(path, 0, options.kind or SEGMENT, options.topic or "")
            continue
        is_empty = True
        for each, file in files_under([path]):
            is_empty = False
            info = LocalStorage().info(each)
            if file is None and info is not None and options.kind is not None:
                file = classified(info, options.kind)
            yield each, file._replace(topic=options.topic) if file is not None and options.topic else file
        if is_empty:
            yield path, None


def _why_not(path: str) -> str:
    info = LocalStorage().info(path)
    if info is None:
        return "nothing is there"
    if info.is_folder:
        return "no file of a log directory is in this folder"
    return f"not the name of a file of a log directory; --as says what it is: {', '.join(KINDS)}"


def _dump(options: argparse.Namespace, file: DumpFile, wanted: Wanted) -> tuple[int, int]:
    from kwire.cli.dumping.beside import rows_beside
    from kwire.cli.dumping.segments import segment_rows
    from kwire.cli.dumping.writing import write

    try:
        with _storage_of(options, file) as (storage, opened):
            is_of_records = opened.kind in OF_RECORDS
            rows = segment_rows(storage, opened, wanted) if is_of_records else rows_beside(storage, opened)
            return write(opened, rows, options.output, with_records=wanted.with_records and is_of_records)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigError(f"{file.path}: {error.strerror or error}") from error


@contextmanager
def _storage_of(options: argparse.Namespace, file: DumpFile) -> Iterator[tuple[Storage, DumpFile]]:
    """Where the bytes are; standard input and gzip data are read whole."""
    is_stdin = file.path == "-"
    if not is_stdin and file.kind not in OF_RECORDS:
        yield LocalStorage(), file
        return
    source: AbstractContextManager[object] = nullcontext(sys.stdin.buffer) if is_stdin else open(file.path, "rb")
    with source as stream:
        head = stream.read(HEAD_SIZE)  # type: ignore[attr-defined]
        with unzipped(head, stream, file.path, "kwire dump -") as (begin, inside, compressed):  # type: ignore[arg-type]
            if not (is_stdin or compressed):
                yield LocalStorage(), file
                return
            content = read_limited(begin, inside, options.max_input)
    yield _Held(content), file._replace(size=len(content))


class _Held:
    """A storage of one file, whose bytes are in memory."""

    hop_bytes = read_bytes = 1 << 20

    def __init__(self, content: bytes) -> None:
        self._content = content

    def info(self, path: str) -> FileInfo:
        return FileInfo(path, len(self._content), False)

    def files(self, folder: str) -> Iterator[FileInfo]:
        return iter(())

    tree = files

    def open(self, path: str) -> AbstractContextManager[OpenFile]:
        return nullcontext(_HeldFile(self._content))

    def shown(self, path: str) -> str:
        return path


class _HeldFile:
    def __init__(self, content: bytes) -> None:
        self._content = memoryview(content)

    def read_at(self, position: int, size: int) -> memoryview:
        return self._content[position : position + size]

    def close(self) -> None:
        """Nothing is open."""
