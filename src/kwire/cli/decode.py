"""`kwire decode`: bytes explained, wherever they come from: a packet capture, frames, record batches, hex of them.

Finds out what the input is, and says what it took it for. The parts with much to do are `decode_capture` and
`decode_frames`; records are shown here.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from kwire.cli.capture.files import is_capture
from kwire.cli.capture.tls_records import is_tls, what_tls
from kwire.cli.compressed_files import HEAD_SIZE, MAX_INPUT, read_limited, unzipped
from kwire.cli.usage import Commands, UsageError, integer, natural, usage_errors
from kwire.engine.common.numbers import whole_number
from kwire.errors import ConfigError, TruncatedError
from kwire.errors.listing import counted

_EPILOG = """\
examples, captures:
  sudo tcpdump -i any -w trace.pcap port 9092      capture, then:
  kwire decode --summary trace.pcap                one line per frame: time, API, version, size, latency
  kwire decode --frame 12 trace.pcap               all fields of frame 12, each with its bytes
  kwire decode --key Fetch --errors trace.pcap     the Fetch answers that carry an error code
  kwire decode --at 48211 trace.pcap               the field that byte 48211 of the file belongs to
  kwire decode --html trace.pcap -o page.html      a page for the browser: each request beside its answer
  sudo tcpdump -i lo -U -w - port 9092 | kwire decode --summary -

examples, frames:
  kwire decode --hex '00000014 00120000 ...'       a request: its header says what it is
  kwire decode --response Metadata:12 answer.bin   a response, by the API and version of its request
  kwire decode --at 17 --hex '...'                 the line that byte 17 belongs to
  kwire decode --generation 0.7 --hex '...'        a request of Kafka 0.7, whose bytes do not say so
  xxd frame.bin | kwire decode -                   what xxd, hexdump -C, od and tcpdump -x print is read, too

examples, records:
  kwire decode 00000000000000000000.log            every field of every batch, each with its bytes
  kwire decode --at 48211 00000000000000000000.log the batch, record and field that byte 48211 belongs to
  kwire dump 00000000000000000000.log              lists batches, and with --records records, instead

Damaged bytes are shown up to the damage, then the error with field and offset. Secrets (SASL tokens, SCRAM keys,
delegation tokens, configuration values that are set) are masked unless --secrets is given.
"""
_MAX_EXCHANGES = 10_000
_MAX_DETAILS = 1_000
_BESIDE_SEGMENTS = {
    ".index": "the offset index",
    ".timeindex": "the time index",
    ".txnindex": "the index of aborted transactions",
    ".snapshot": "a snapshot of the producers",
}


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "decode",
        help="explain a packet capture, frames, or record batches",
        description="Explains bytes of the Kafka protocol without a broker.",
        epilog=_EPILOG,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a file, or - for standard input")
    parser.add_argument("--hex", metavar="DIGITS", help="the bytes themselves in hex, blanks allowed")
    parser.add_argument(
        "--as", dest="kind", choices=("auto", "capture", "frames", "records"), default="auto", help="what the input is"
    )
    parser.add_argument(
        "--generation", choices=("0.7", "0.8"), help="0.7, or 0.8 and everything later (captures: detected by default)"
    )
    parser.add_argument("--at", type=natural, metavar="OFFSET", help="only what this byte of the input belongs to")
    parser.add_argument("--json", action="store_true", help="fields as JSON, one object per frame and line")
    parser.add_argument("--items", type=_items, default=20, metavar="N", help="show N of many, or 'all' (default 20)")
    parser.add_argument(
        "--max-input",
        type=natural,
        default=MAX_INPUT,
        metavar="BYTES",
        help="read no more of gzip data or standard input, except for captures (default %(default)s)",
    )
    parser.add_argument("--secrets", action="store_true", help="show secrets, too")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default %(default)s)")
    frames = parser.add_argument_group("frames")
    frames.add_argument(
        "--response", metavar="API:VERSION", help="the frames are responses to requests of this API and version"
    )
    group = parser.add_argument_group("records")
    group.add_argument("--no-crc", action="store_true", help="do not check the checksums")
    _add_capture_options(parser)
    parser.set_defaults(run=run)


def _add_capture_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("captures")
    group.add_argument("--port", type=natural, metavar="N", help="the brokers' port (default: detected, and reported)")
    group.add_argument("--summary", action="store_true", help="one line per frame")
    group.add_argument("--key", action="append", metavar="API", help="only this API, by name or key; repeatable")
    group.add_argument("--topic", metavar="NAME", help="only frames that name this topic")
    group.add_argument("--correlation", type=integer, metavar="ID", help="only frames of this correlation id")
    group.add_argument("--frame", type=natural, metavar="N", help="only the frame of this number")
    group.add_argument("--from", dest="since", metavar="TIME", help="from this time on: 14:03:07.5 or an ISO date")
    group.add_argument("--to", dest="until", metavar="TIME", help="up to this time")
    group.add_argument("--errors", action="store_true", help="only damaged frames and answers with an error code")
    group.add_argument(
        "--max-frame",
        type=natural,
        default=104_857_600,
        metavar="BYTES",
        help="no frame is larger (default %(default)s)",
    )
    _add_page_options(parser)


def _add_page_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a page of a capture")
    group.add_argument("--html", action="store_true", help="one HTML page: timeline, filters, fields")
    group.add_argument("-o", dest="page", metavar="FILE", help="where the page is written (default: standard output)")
    group.add_argument(
        "--max-exchanges", type=natural, default=_MAX_EXCHANGES, metavar="N", help="list no more (default %(default)s)"
    )
    group.add_argument(
        "--max-details",
        type=natural,
        default=_MAX_DETAILS,
        metavar="N",
        help="fields of the first N, and of N answers with errors (default %(default)s)",
    )


def _items(text: str) -> int | None:
    if text == "all":
        return None
    found = whole_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"a whole number from 0 or 'all' is needed, not {text!r}")
    return found


def run(options: argparse.Namespace) -> int:
    """Decodes and prints; notes and errors go to stderr."""
    if (options.file is None) == (options.hex is None):
        raise UsageError("name either a FILE (- for standard input) or --hex DIGITS")
    if options.html or options.page is not None:
        _check_page_options(options)
    color = options.color == "always" or (
        options.color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    )
    if options.hex is not None:
        return _decode_bytes(_bytes_of_hex(options.hex, options.max_input), options, color)
    if options.file == "-":
        return _decode_stream(sys.stdin.buffer, None, options, color)
    _check_suffix(options.file)
    with _open(options.file) as source:
        found = os.fstat(source.fileno())
        return _decode_stream(source, found.st_size if stat.S_ISREG(found.st_mode) else None, options, color)


def _check_page_options(options: argparse.Namespace) -> None:
    if not options.html:
        raise UsageError("-o FILE is for --html")
    for name in ("hex", "json", "summary", "topic", "errors", "at"):
        given = getattr(options, name)
        if given is not None and given is not False:
            raise UsageError(f"--{name} does not go with --html: a page is of a capture, and has filters of its own")


def _bytes_of_hex(digits: str, limit: int) -> bytes:
    from kwire.cli.hex_dumps import bytes_of_hex

    if digits == "-":
        data, notes = bytes_of_hex(_whole(b"", sys.stdin.buffer, limit).decode(errors="replace"))
    else:
        with usage_errors():
            data, notes = bytes_of_hex(digits)
    _tell(notes)
    return data


def _open(file: str) -> BinaryIO:
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error


def _check_suffix(file: str) -> None:
    """ConfigError for the files beside a segment, which are of the broker alone and not of the protocol."""
    path = Path(file)
    if path.suffix in _BESIDE_SEGMENTS:
        what = _BESIDE_SEGMENTS[path.suffix]
        raise ConfigError(f"{file} is {what} of a log segment and is shown by: kwire dump {file}")


def _decode_stream(source: BinaryIO, size: int | None, options: argparse.Namespace, color: bool) -> int:
    name = "standard input" if options.file == "-" else options.file
    with unzipped(source.read(HEAD_SIZE), source, name, "kwire decode -") as (head, inside, compressed):
        return _decode_plain(head, inside, None if compressed else size, options, color)


def _decode_plain(head: bytes, source: BinaryIO, size: int | None, options: argparse.Namespace, color: bool) -> int:
    from kwire.cli.hex_dumps import bytes_of_hex, looks_like_hex

    if options.kind == "capture" or (options.kind == "auto" and is_capture(head)):
        if options.html:
            from kwire.cli.decode_page import write_page

            return write_page(source, head, size, options)
        from kwire.cli.decode_capture import decode_capture

        return decode_capture(source, head, size, options, _print, color)
    if options.html:
        raise UsageError("--html makes a page of a packet capture, and this is none")
    data = _whole(head, source, None if size is not None else options.max_input)
    if options.kind == "auto" and looks_like_hex(data):
        data, notes = bytes_of_hex(data.decode())
        _tell([f"taken for hex, {counted(len(data), 'byte')}", *notes])
    return _decode_bytes(data, options, color)


def _whole(head: bytes, source: BinaryIO, limit: int | None) -> bytes:
    """All of the input; LimitError where it is longer than `limit`."""
    if limit is None:
        source.seek(0)  # one copy instead of two
        return source.read()
    return read_limited(head, source, limit)


def _decode_bytes(data: bytes, options: argparse.Namespace, color: bool) -> int:
    from kwire.cli.decode_frames import are_requests, decode_frames, is_one_frame

    kind = options.kind
    if kind == "capture":
        raise UsageError("--as capture needs a file or standard input")
    if is_tls(data):
        raise ConfigError(f"{what_tls(data)}, not Kafka: it cannot be read here; take the bytes from where TLS ends")
    if options.generation == "0.7":
        kind = "records" if kind == "auto" and options.response is None and not is_one_frame(data) else kind
    if kind == "auto" and (options.response is not None or are_requests(data) or is_one_frame(data)):
        kind = "frames"
    if kind == "frames":
        return decode_frames(data, options, _print, color)
    return _decode_records(data, options, color)


def _decode_records(data: bytes, options: argparse.Namespace, color: bool) -> int:
    from kwire import protocol
    from kwire.schema.describing.record_sets import PARTIAL_BATCH

    description = protocol.describe_records(
        data,
        topic=options.topic or _topic_of(options.file),
        generation=_old(options),
        secrets=options.secrets,
        check_crc=not options.no_crc,
        max_items=None if options.at is not None else options.items,
        only_at=options.at,
    )
    if [field.name for field in description.fields] == [PARTIAL_BATCH]:
        raise TruncatedError(f"no whole record batch, frame or capture in {counted(len(data), 'byte')}", None, 0)
    _print(description.to_json() if options.json else description.to_text(color=color, at=options.at))
    return 1 if description.errors else 0


def _old(options: argparse.Namespace) -> str | None:
    return options.generation if options.generation == "0.7" else None


def _topic_of(file: str | None) -> str:
    """The topic of a log segment, from the folder that it lies in: TOPIC-PARTITION."""
    return "" if file is None else Path(file).resolve().parent.name.rpartition("-")[0]


def _print(text: str) -> None:
    print(text)


def _tell(notes: list[str]) -> None:
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
