"""`kwire decode`: record batches and message sets from a file or from hex, as records or as batch headers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cli.rendering import FORMATS, record_table_head, table, write_records
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.records import Records

_EPILOG = """\
examples:
  kwire decode 00000000000000000000.log            the records of a log segment, as a table
  kwire decode --format json dump.bin | jq .value  one JSON object per record
  kwire decode --batches dump.bin                  one line per batch: offsets, codec, producer
  kwire decode --hex '00000000 00000000 ...'       bytes from a packet capture or a document
  kafka-dump | kwire decode -                      from standard input

Takes what stands in the records field of Produce and Fetch and in log segments: magic 0, 1 and 2, also mixed, every
codec. Damaged bytes are refused with the field and the offset at fault; --no-crc skips the checksums.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "decode",
        help="show the records in a file of record batches or message sets",
        description="Decodes record batches and message sets without a broker.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a file, or - for standard input")
    parser.add_argument("--hex", metavar="DIGITS", help="the bytes themselves in hex, blanks allowed")
    parser.add_argument("--format", choices=FORMATS, default="table", help="of records (default %(default)s)")
    parser.add_argument("--batches", action="store_true", help="show the batches instead of their records")
    parser.add_argument("--no-crc", action="store_true", help="do not check the checksums")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Decodes and prints; tells on stderr what was left over."""
    from kwire import records

    data = _bytes_of(options)
    found = records.decode(data, check_crc=not options.no_crc)
    if options.batches:
        print(_batch_table(found))
    else:
        if options.format == "table":
            print(record_table_head(place=False), flush=True)
        write_records(found, options.format, sys.stdout.buffer, place=False)
        sys.stdout.buffer.flush()
    if found.consumed < len(data):
        print(
            f"{len(data) - found.consumed} of {len(data)} bytes are left over: the last batch is cut off",
            file=sys.stderr,
        )
    return 0


def _bytes_of(options: argparse.Namespace) -> bytes:
    if (options.file is None) == (options.hex is None):
        raise ConfigError("name either a FILE (- for standard input) or --hex DIGITS")
    if options.hex is not None:
        try:
            return bytes.fromhex(options.hex)
        except ValueError as error:
            raise ConfigError(f"--hex: {error}") from None
    if options.file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(options.file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{options.file}: {error.strerror}") from error


def _batch_table(found: Records) -> str:
    head = ("position", "bytes", "offsets", "records", "magic", "codec", "producer", "epoch", "sequence", "kind")
    rows = []
    for batch in found.batches:
        kind = "control" if batch.is_control else "transactional" if batch.is_transactional else "-"
        producer = [str(n) if batch.producer_id >= 0 else "-"
                    for n in (batch.producer_id, batch.producer_epoch, batch.base_sequence)]  # fmt: skip
        span = f"{batch.base_offset}..{batch.last_offset}"
        rows.append((batch.position, batch.size, span, batch.count, batch.magic, batch.compression, *producer, kind))
    return table(head, rows)
