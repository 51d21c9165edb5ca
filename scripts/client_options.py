"""Writes the keywords of the clients in src/kwire/engine/settings/options.py from the tables of settings beside it:
the names of partitioners and of serializers between the first marks, a TypedDict for each table between the last.
"""

from __future__ import annotations

from pathlib import Path

from scripts.sources import PACKAGE, formatted, with_blocks

from kwire.engine.common.serialization import NAMES
from kwire.engine.settings.clients import (
    AdminSettings,
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    ShareConsumerSettings,
)
from kwire.engine.settings.groups import GroupSettings
from kwire.engine.settings.kinds import Setting, Settings
from kwire.engine.settings.transactions import TransactionSettings
from kwire.engine.settings.values import PARTITIONERS

OPTIONS = PACKAGE / "engine" / "settings" / "options.py"

TABLES: dict[type[Settings], str] = {
    ClientSettings: "The keywords that every client takes, beside `bootstrap_servers`.",
    TransactionSettings: "The keywords of transactional producers.",
    ProducerSettings: "The keywords that only a Producer takes.",
    GroupSettings: "The keywords of members of consumer groups.",
    ConsumerSettings: "The keywords that only a Consumer takes.",
    ShareConsumerSettings: "The keywords that only a ShareConsumer takes.",
    AdminSettings: "An Admin takes no keywords of its own yet.",
}
"""Each with what its class says of itself; one comes after those that it extends."""
POSITIONAL = "bootstrap_servers"


def wanted() -> dict[Path, str]:
    """The one file."""
    blocks = (partitioner_names(), serializer_names(), "\n\n".join(map(options, TABLES)))
    return {OPTIONS: formatted(with_blocks(OPTIONS.read_text(encoding="utf-8"), blocks), OPTIONS)}


def partitioner_names() -> str:
    """The type of the names of partitioners."""
    return f"PartitionerName = {literal(PARTITIONERS)}\n"


def serializer_names() -> str:
    """The type of the names of serializers."""
    return f"SerializerName = {literal(NAMES)}\n"


def options(table: type[Settings]) -> str:
    """The TypedDict of a table: its own keywords, and those of the tables that it extends as bases."""
    extended = [base for base in reversed(table.__bases__) if base in TABLES]
    bases = ", ".join([name_of(base) for base in extended] or ["TypedDict"])
    inherited = {keyword for base in extended for keyword in base.table}
    own = (row for keyword, row in table.table.items() if keyword not in inherited and keyword != POSITIONAL)
    head = f'class {name_of(table)}({bases}, total=False):\n    """{TABLES[table]}"""\n\n'
    return head + "".join(map(keyword_of, own))


def name_of(table: type[Settings]) -> str:
    """The name of its class."""
    return table.__name__.removesuffix("Settings") + "Options"


def keyword_of(row: Setting) -> str:
    """A keyword with its type, and what editors show of it."""
    return f'    {row.keyword}: {type_of(row)}\n    """{row.doc}"""\n'


def type_of(row: Setting) -> str:
    """The type of what may be given; ValueError where the row says nothing of it."""
    takes = row.given_as or (literal(row.choices) if row.choices else row.kind.__name__)
    if takes == "object":
        raise ValueError(f"{row.keyword}: any object is no type; the row needs given_as")
    return f"{takes} | None" if row.optional or None in row.synonyms else takes


def literal(values: tuple[object, ...]) -> str:
    """One of these values, as a type."""
    return f"Literal[{', '.join(map(repr, values))}]"
