"""One run of `kwire produce`: its inputs to the producer, in transactions or not, and what is told of it."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import opened, producing
from kwire.cli.output import exit_code
from kwire.cli.produce_input import (
    STANDARD_INPUT,
    Columns,
    Csv,
    Headers,
    InputError,
    JsonLines,
    Lines,
    Reader,
    Shape,
    WholeFiles,
    check_files,
    opened_input,
    opened_text,
)
from kwire.cli.produce_sending import Sending
from kwire.cli.registry_settings import registry_of
from kwire.cli.settings import in_dots, keyword_of, name_value_pairs
from kwire.cli.table_formats import TABLE_FORMATS, check_pyarrow, table_format
from kwire.cli.terminal import Progress, print_note, progress
from kwire.cli.trouble import error_text, trouble_on_stderr
from kwire.cli.usage import UsageError
from kwire.cli.value_forms import BYTES, FORMS, SCHEMA_FORMS, Form
from kwire.errors import DeliveryError, KafkaError
from kwire.errors.listing import counted
from kwire.errors.wording import joined
from kwire.producer import Producer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)")
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}
_DEFAULTS = {"batch.size": "262144"}
"""Unless the user's settings say otherwise: a shell's input comes in bulk."""
_TRANSACTION_DEFAULTS = {**_DEFAULTS, "transaction.timeout.ms": "900000"}
_ABORT_S = 0.1
_INTERRUPTED = 130


def write(options: argparse.Namespace) -> int:
    """Sends until the inputs end; returns the exit code."""
    shape = _shape(options)
    inputs = [(path, _reader(options, path, shape)) for path in options.files or [STANDARD_INPUT]]
    settings, below = _settings(options)
    check_files([path for path, _ in inputs])
    with trouble_on_stderr("produce"), opened(Producer, options, config=below, **settings) as producer:
        with _progress(options, inputs) as shown:
            run = _Run(options, producer, shown)
            try:
                run.write(inputs)
            except KeyboardInterrupt:
                run.interrupt()
        return run.tell()


# -- what the options mean -----------------------------------------------------------------------------------------


def _reader(options: argparse.Namespace, path: str, shape: Shape) -> Reader:
    form = options.format or table_format(path) or "lines"
    _check_fit(options, "whole" if options.whole else form)
    if options.whole:
        return WholeFiles(shape)
    if form == "lines":
        delimiter = _unescaped("--delimiter", options.delimiter)
        return Lines(shape, delimiter or b"\n", _unescaped("--key-separator", options.key_separator))
    if form == "json":
        return JsonLines(shape)
    if form == "csv":
        return Csv(shape, _columns(options), _tell_unused)
    return _table(options, form, shape)


def _table(options: argparse.Namespace, form: str, shape: Shape) -> Reader:
    check_pyarrow()
    from kwire.cli.produce_tables import Arrow, Parquet

    kind = Parquet if form == "parquet" else Arrow
    return kind(shape, _columns(options), _tell_unused)


def _check_fit(options: argparse.Namespace, form: str) -> None:
    """UsageError for options that say nothing about this format."""
    if options.whole and options.format is not None:
        raise UsageError("--whole cannot be combined with --format")
    given = {
        "--delimiter": (options.delimiter, ("lines",)),
        "--key-separator": (options.key_separator, ("lines",)),
        "--null": (options.null, ("lines", "csv", "whole")),
        **{f"--{what}-column": (name, ("csv", *TABLE_FORMATS)) for what, name in vars(_columns(options)).items()},
    }
    for option, (value, forms) in given.items():
        if value is not None and form not in forms:
            raise UsageError(f"{option} is for {' and '.join(forms)}, not for {form}")
    if form in TABLE_FORMATS and {options.key_as, options.value_as} & set(SCHEMA_FORMS):
        raise UsageError(f"what is written by schemas comes from lines, json, csv or whole files, not from {form}")
    if options.key is not None and options.key_separator is not None:
        raise UsageError("--key cannot be combined with --key-separator")


def _shape(options: argparse.Namespace) -> Shape:
    key_form, value_form = _forms(options)
    return Shape(
        key=None if options.key is None else _fixed_key(key_form, options.key),
        headers=_fixed_headers(options.header),
        timestamp=options.timestamp,
        null=None if options.null is None else os.fsencode(options.null),
        key_form=key_form,
        value_form=value_form,
        ignored=frozenset(options.ignore),
        own_topics=options.own_topics,
    )


def _forms(options: argparse.Namespace) -> list[Form]:
    """What keys and values are in the input."""
    from kwire.cli.schema_writing import writes_by_schema, writing

    names = {"key": options.key_as, "value": options.value_as}
    if not writes_by_schema(options):
        return [FORMS[name] for name in names.values()]
    registry = registry_of(options)
    return [FORMS[name] if name in FORMS else writing(name, field, options, registry) for field, name in names.items()]


def _fixed_key(form: Form, text: str) -> bytes:
    if form is BYTES:
        return os.fsencode(text)
    try:
        return form.read(text)
    except ValueError as fault:
        raise UsageError(f"--key: {fault}") from None


def _fixed_headers(texts: Sequence[str]) -> Headers:
    parts = [text.partition("=") for text in texts]
    if not all(name for name, _, _ in parts):
        raise UsageError("--header: write NAME=VALUE, or NAME for a null value")
    return tuple((name, os.fsencode(value) if equals else None) for name, equals, value in parts)


def _columns(options: argparse.Namespace) -> Columns:
    return Columns(
        key=options.key_column,
        value=options.value_column,
        timestamp=options.timestamp_column,
        partition=options.partition_column,
        topic=options.topic_column,
    )


def _unescaped(option: str, text: str | None) -> bytes | None:
    r"""The bytes of a separator: \n, \r, \t, \0, \xNN and \\ are one."""

    def meant(found: re.Match[bytes]) -> bytes:
        if len(found[1]) == 3:
            return bytes([int(found[1][1:], 16)])
        if found[1] not in _ESCAPED:
            raise UsageError(f"{option} {text!r}: there are \\n, \\r, \\t, \\0, \\xNN and \\\\")
        return _ESCAPED[found[1]]

    if text == "":
        raise UsageError(f"{option} is empty")
    return None if text is None else _ESCAPE.sub(meant, os.fsencode(text))


def _settings(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings of the producer that go over the user's, by keyword, and others below them, by name."""
    over = producing(options)
    for name in ("acks", "partitioner"):
        if getattr(options, name) is not None:
            over[name] = getattr(options, name)
    if any(keyword_of(name) == "transactional_id" for name in name_value_pairs("-X", options.settings)):
        raise UsageError("-X transactional.id: name it by --transactional-id, for one transaction of everything")
    if options.transaction is None and options.transactional_id is None:
        return {**over, "transactional_id": None}, _DEFAULTS
    if options.transactional_id == "":
        raise UsageError("--transactional-id is empty")
    over["transactional_id"] = options.transactional_id or f"kwire-produce-{secrets.token_hex(8)}"
    return over, _TRANSACTION_DEFAULTS


def _progress(options: argparse.Namespace, inputs: Sequence[tuple[str, Reader]]) -> AbstractContextManager[Progress]:
    """Nothing is drawn over the lines that a user types."""
    paths = [path for path, _ in inputs]
    if STANDARD_INPUT in paths and sys.stdin.isatty():
        return nullcontext(Progress())
    sizes = [os.stat(path).st_size for path in paths if path != STANDARD_INPUT and os.path.isfile(path)]
    total = sum(sizes) if len(sizes) == len(paths) else None
    return progress(f"records to {options.topic}", total, unit="bytes")


def _tell_unused(columns: Sequence[str]) -> None:
    print_note(f"kwire produce: not used: {', '.join(columns)}")


# -- the run -------------------------------------------------------------------------------------------------------


class _Run:
    def __init__(self, options: argparse.Namespace, producer: Producer, shown: Progress) -> None:
        self._options = options
        self._producer = producer
        self._id: str | None = producer.settings.transactional_id
        self._sending = Sending(producer, options.topic, shown, partition=options.partition, rate=options.rate)
        self._committed = 0
        self._transactions = 0
        self._is_committing = False
        self._is_left_open = False
        self._unknown: int | None = None

    def write(self, inputs: Sequence[tuple[str, Reader]]) -> None:
        """Sends all inputs and waits until the result of each record is known."""
        parts = [[each] for each in inputs] if self._options.transaction == "file" else [inputs]
        for part in parts:
            if self._id is None:
                self._write_plainly(part)
            else:
                self._write_transaction(part)

    def _write_plainly(self, inputs: Sequence[tuple[str, Reader]]) -> None:
        try:
            self._send(inputs)
        except InputError as error:
            self._sending.finish()
            raise InputError(f"{error}; before that {self._acknowledged()}") from error
        self._sending.finish()

    def _write_transaction(self, inputs: Sequence[tuple[str, Reader]]) -> None:
        try:
            with self._transaction():
                self._send(inputs)
                self._sending.finish()
                if self._sending.failed:
                    raise self._failure()
        except KafkaError as error:
            raise self._aborted(error) from error
        self._committed = self._sending.acknowledged
        self._transactions += 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._producer.transaction():
            try:
                yield
            except KeyboardInterrupt:
                self._abort_quickly()
                raise
            self._is_committing = True
        self._is_committing = False

    def _abort_quickly(self) -> None:
        try:
            self._producer.abort_transaction(timeout=_ABORT_S)
        except KafkaError:
            self._is_left_open = True
            self._sending.abandon()  # else the end of the block waits for the abort

    def _send(self, inputs: Sequence[tuple[str, Reader]]) -> None:
        for path, reader in inputs:
            opened = opened_text if reader.is_text else opened_input
            with opened(path) as (stream, source):
                for block in reader.blocks(stream, source):
                    if not self._sending.send(block):
                        return

    def interrupt(self) -> None:
        """Ctrl-C: sends nothing more and waits for nothing."""
        self._unknown = self._sending.abandon()

    # -- what is told ------------------------------------------------------------------------------------------------

    def tell(self) -> int:
        """Says what became of the records; returns the exit code. Raises DeliveryError where none was written."""
        sending = self._sending
        if self._unknown is not None:
            print(f"kwire produce: ended by Ctrl-C: {self._when_interrupted(self._unknown)}", file=sys.stderr)
            return _INTERRUPTED
        if sending.failed and not sending.acknowledged:
            raise self._failure()
        self._tell_failures()
        print(self._summary(), file=sys.stderr)
        return exit_code(sending.given, sending.failed)

    def _summary(self) -> str:
        sending, topic = self._sending, self._options.topic
        if self._id is not None:
            transactions = counted(self._transactions, "transaction")
            return f"{counted(self._committed, 'record')} to {topic}, committed in {transactions}"
        if self._producer.settings.acks == 0:
            return f"{counted(sending.acknowledged, 'record')} to {topic}, sent without acknowledgement"
        failed = f", {sending.failed} not written" if sending.failed else ""
        return f"{counted(sending.acknowledged, 'record')} to {topic}, acknowledged{failed}"

    def _tell_failures(self) -> None:
        sending = self._sending
        for name, error in sending.failures:
            print_note(f"kwire produce: {name} was not written: {in_dots(_reason(error))}")
        more = sending.failed - len(sending.failures)
        if more:
            print(f"kwire produce: {more} more not written", file=sys.stderr)

    def _acknowledged(self) -> str:
        count = self._sending.acknowledged
        return f"{counted(count, 'record')} {'was' if count == 1 else 'were'} acknowledged"

    def _failure(self) -> DeliveryError:
        sending = self._sending
        name, first = sending.failures[0]
        text = f"{counted(sending.failed, 'record')} could not be delivered, the first: {name}"
        return DeliveryError(joined(": ", (text, _reason(first))), [error for _, error in sending.failures])

    def _aborted(self, error: KafkaError) -> KafkaError:
        """What ended a transaction, and that it was aborted."""
        causes = error.exceptions if isinstance(error, DeliveryError) else [error]
        before = "" if not self._transactions else f"; before it {counted(self._transactions, 'transaction')} committed"
        end = f"the transaction was aborted, nothing of it can be seen{before}"
        return DeliveryError(joined("; ", (error_text(error), end)), causes)

    def _when_interrupted(self, unknown: int) -> str:
        if self._id is None:
            left = f"; {unknown} more may have been written" if unknown else ""
            return f"{self._acknowledged()}{left}"
        if self._is_left_open:
            return f"the transaction is still open; to end it: kwire transactions terminate {self._id}"
        if self._is_committing:
            return f"whether the transaction {self._id} was committed is not known"
        were = "was" if self._committed == 1 else "were"
        return f"{counted(self._committed, 'record')} {were} committed, the transaction was aborted"


def _reason(error: Exception) -> str:
    return error_text(error) if isinstance(error, KafkaError) else str(error)
