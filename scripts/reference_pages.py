"""Writes the tables of docs/reference/: error codes, messages of the protocol, options of the Spark source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from scripts.error_codes import classes
from scripts.files_page import first_sentence
from scripts.sources import DOCS, PACKAGE

from kwire import protocol
from kwire.cli.error_advice import ADVICE
from kwire.errors import BrokerError

FOLDER = DOCS / "reference"

ERRORS = """# Error codes of brokers

Generated from `kwire.errors.broker` and `kwire help errors` by `make docs`. Each code has a class in that module, under
both names; `retriable` says that the client itself tries again. What kwire raises besides: [errors](errors.md).
"""
ERROR_COLUMNS = ("name and class", "code", "retriable", "meaning", "what to do")
MESSAGES = """# Messages of the protocol

Generated from `kwire/schema/` by `make docs`. Each API key has a request and a response in `kwire.protocol`, such as
`protocol.MetadataRequest`, whose fields say in which versions they exist: [records and messages](wire.md).
"""
OPTIONS = """# Options of the Spark source

Generated from `kwire/spark/options/` by `make docs`: which option there is where. What they mean is in [Kafka in
Spark](../spark.md): [reads](../spark.md#options), [streams](../spark.md#streams), [writes](../spark.md#writing),
[decoders](../spark.md#decoding-values), [log segments](../spark.md#log-segments). Any [setting](../settings.md) of a
consumer (in reads) or a producer (in writes) is an option with `kafka.` before its dotted name.
"""


def wanted() -> dict[Path, str]:
    """The pages."""
    return {
        FOLDER / "error-codes.md": page(ERRORS, ERROR_COLUMNS, errors()),
        FOLDER / "messages.md": page(MESSAGES, ("key", "name", "versions", "what it is"), messages()),
        FOLDER / "spark-options.md": page(OPTIONS, ("option", *USES), options()),
    }


def page(head: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A head and a table."""
    names = tuple(columns)
    lines = [names, ("---",) * len(names), *rows]
    return head + "\n" + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def errors() -> Iterable[tuple[object, ...]]:
    """A row for each code."""
    return (
        (f"`{each.name}`<br>`{each.__name__}`", each.code, "yes" if each.retriable else "", meaning(each), advice(each))
        for each in classes()
    )


def meaning(error: type[BrokerError]) -> str:
    """What stands in its docstring after its name and code."""
    return (error.__doc__ or "").partition(": ")[2].replace("|", "\\|")


def advice(error: type[BrokerError]) -> str:
    """What `kwire help errors` says to do, with commands as code."""
    return re.sub(r"(?<!\w)'(.*?)'(?!\w)", r"`\1`", ADVICE.get(error.name, "").replace("|", "\\|"))


def messages() -> Iterable[tuple[object, ...]]:
    """A row for each API key."""
    paths = (PACKAGE / "schema").glob("k[0-9][0-9]_*.py")
    heads = {path.name[1:3]: first_sentence(path).partition(": ")[2] for path in paths}
    for key in sorted({api.key for api in protocol.APIS.values()}):
        api = protocol.APIS[key]
        versions = f"{api.versions[0]} to {api.versions[-1]}" if len(api.versions) else "none"
        yield key, f"`{api.name}`", versions, heads.get(f"{key:02}", "")


USES = ("batch read", "stream", "write", "log segments")


def options() -> Iterable[tuple[object, ...]]:
    """A row for each option, with a mark for each use that has it."""
    from kwire.spark.options import log, read, stream, write

    names = [used.NAMES for used in (read, stream, write, log)]
    for name in sorted(frozenset().union(*names), key=str.lower):
        yield f"`{name}`", *("yes" if name in used else "" for used in names)
