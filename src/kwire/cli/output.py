"""What the verbs of nouns print: rows under keys, as a table, JSON or CSV, and which items an action failed for.

table   columns for reading by eye; nothing is "-"
json    one object per line; nothing is null, several values are an array
csv     the keys, then a line for each row; nothing is empty, several values are separated by blanks
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kwire.cli import terminal
from kwire.cli.connecting import patience_of
from kwire.cli.rendering import table
from kwire.cli.settings import in_dots
from kwire.cli.trouble import error_text
from kwire.errors import BrokerError, KafkaError

FORMS = ("table", "json", "csv")
FAILED = 1
NOT_ALL = 3

Name = TypeVar("Name")
Found = TypeVar("Found")


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Adds --output and --json."""
    parser.add_argument("--output", choices=FORMS, default="table", help="how rows are printed (default: %(default)s)")
    parser.add_argument(
        "--json", dest="output", action="store_const", const="json", help="--output json: one object per line"
    )


def show(keys: Sequence[str], rows: Iterable[Sequence[Any]], form: str, *, has_head: bool = True) -> None:
    """Prints the rows; without a head they go on where others have ended."""
    if form == "json":
        for row in rows:
            print(json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False))
    elif form == "csv":
        from kwire.cli.csv_rows import csv_text

        entries = ([_one_line(entry, "", " ") for entry in row] for row in rows)
        sys.stdout.write(csv_text([*([keys] if has_head else []), *entries]))
    else:
        head = [key.replace("_", " ") for key in keys]
        _show_table(head, [[_one_line(each, "-", ",") for each in row] for row in rows], has_head=has_head)
    sys.stdout.flush()  # a reader that has gone is told here, not at exit


def _show_table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, has_head: bool) -> None:
    if terminal.draws(sys.stdout):
        terminal.draw_table(head, rows)
    elif has_head:
        print(table(head, rows))
    elif rows:
        print(table(head, rows).partition("\n")[2])


def _one_line(entry: Any, nothing: str, between: str) -> Any:
    if isinstance(entry, (list, tuple)):
        entry = between.join(map(str, entry))
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    return nothing if entry is None or entry == "" else entry


def tell(options: argparse.Namespace, failures: Mapping[Any, KafkaError]) -> None:
    """Prints each error on standard error, as a line of the command: once, where one is that of many."""
    for text in dict.fromkeys(failure_text(options, error) for error in failures.values()):
        terminal.print_error(f"kwire {options.command}: {text}")


def failure_text(options: argparse.Namespace, error: KafkaError) -> str:
    """The error in the words of the command's options."""
    return f"{in_dots(error_text(error))}{patience_of(options, error)}"


def done(
    options: argparse.Namespace,
    noun: str,
    items: Sequence[Any],
    *acts: Callable[[], object],
    forgiven: int | None = None,
    named: Callable[[Any], object] = str,
) -> int:
    """Acts on the items, shows with --output json or csv what became of each, by its name, and returns the exit code.

    An error with the code `forgiven` is none.
    """
    failures = attempted(acts, forgiven)
    tell(options, failures)
    if options.output != "table":
        errors = {item: failure_text(options, failures[item]) if item in failures else None for item in items}
        show((noun, "error"), [(named(item), error) for item, error in errors.items()], options.output)
    return exit_code(len(set(items)), len(failures))


def of_item(item: object, act: Callable[[], object]) -> Callable[[], None]:
    """The act, whose refusal, by a broker or by the shell itself, is told as that of the item."""

    def acting() -> None:
        try:
            act()
        except KafkaError as error:
            if isinstance(error, BrokerError) or type(error) is KafkaError:
                error.failures = {item: error}
            raise

    return acting


def attempted(acts: Iterable[Callable[[], object]], forgiven: int | None = None) -> dict[Any, KafkaError]:
    """Acts, and returns the error of each item that failed. An error that is not about single items is raised."""
    failures: dict[Any, KafkaError] = {}
    for act in acts:
        try:
            act()
        except KafkaError as error:
            if not error.failures:
                raise
            failures.update({_item(key): each for key, each in error.failures.items()})
    return {
        item: error for item, error in failures.items() if forgiven is None or getattr(error, "code", 0) != forgiven
    }


def _item(key: Any) -> Any:
    """The item that a call names by this key: a topic, where it is about the configs of one."""
    from kwire.admin import ConfigResource

    return key.name if isinstance(key, ConfigResource) else key


def found(
    options: argparse.Namespace, names: Sequence[Name], ask: Callable[[Sequence[Name]], Found]
) -> tuple[Found, int]:
    """What there is of these names, and the exit code; of the others the errors are printed."""
    try:
        return ask(names), 0
    except KafkaError as error:
        failures = error.failures
        left = [name for name in names if name not in failures]
        if not failures or not left:
            raise
    tell(options, failures)
    return ask(left), NOT_ALL


def exit_code(items: int, failures: int) -> int:
    """0 where nothing failed, 1 where everything did, 3 in between."""
    if not failures:
        return 0
    return NOT_ALL if failures < items else FAILED
