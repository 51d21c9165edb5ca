"""The options of `write.format("kwire")` and `writeStream`: their names, their meaning, and what is refused.

`topic` and the producer properties with `kafka.` are those of Spark's Kafka sink. The producer's own defaults are for
single records; a task hands over thousands of rows at once, so larger batches and a longer linger are the defaults
here. Pure: no socket, no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kwire.engine.settings.clients import ProducerSettings
from kwire.errors import ConfigError
from kwire.spark.options.client import checked_properties
from kwire.spark.options.given import GivenOptions
from kwire.spark.workers.logs import LEVELS

AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"
NAMES: Final = frozenset({"topic", "deliveryGuarantee", "transactionalIdPrefix", "logLevel"})

# Spark hands a stream's writer those of its own, too.
_OF_SPARK: Final = frozenset(
    {
        "checkpointlocation",
        "queryname",
        "asyncprogresstrackingenabled",
        "asyncprogresstrackingcheckpointintervalms",
        "_asyncprogresstrackingoverridesinksupportcheck",
    }
)
TRANSACTION_TIMEOUT_MS: Final = 900_000
"""The longest time-out of a transaction that brokers take, unless their transaction.max.timeout.ms says otherwise."""

_TRANSACTIONAL_ID: Final = "kwire-task"
_DECIDE_THE_TIMEOUT: Final = frozenset(
    {
        "transaction.timeout.ms",
        "transaction_timeout_ms",
        "transaction.two.phase.commit.enable",
        "transaction_two_phase_commit_enable",
    }
)
_DEFAULTS: Final = {"batch.size": "262144", "linger.ms": "50"}


@dataclass(frozen=True)
class WriteOptions:
    """The options of one write, checked. `client` holds the `kafka.` properties without that prefix, and is in no
    repr; those that hold secrets show none. `topic` is None where each row names its own.
    """

    client: Mapping[str, str] = field(repr=False)
    topic: str | None = None
    guarantee: str = AT_LEAST_ONCE
    transactional_id_prefix: str | None = None
    log_level: str | None = None


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Checks the options of a write. Raises ConfigError, naming the option and what would work."""
    given = GivenOptions({name: value for name, value in options.items() if name.lower() not in _OF_SPARK})
    given.check_names(NAMES)
    if "kafka.transactional.id" in given:
        raise ConfigError(
            "Kafka option 'transactional.id' is not supported: each task needs an id of its own; "
            f"set deliveryGuarantee to '{EXACTLY_ONCE}' and transactionalIdPrefix"
        )
    guarantee = given.choice("deliveryGuarantee", (AT_LEAST_ONCE, EXACTLY_ONCE), AT_LEAST_ONCE)
    written = WriteOptions(
        client=_with_defaults(_checked_client(given, guarantee)),
        topic=_given_or_none(given, "topic"),
        guarantee=guarantee,
        transactional_id_prefix=_given_or_none(given, "transactionalIdPrefix"),
        log_level=given.choice("logLevel", LEVELS, "") or None,
    )
    _check_guarantee(written)
    given.warn_once()
    return written


def _checked_client(given: GivenOptions, guarantee: str) -> dict[str, str]:
    if guarantee == AT_LEAST_ONCE:
        return checked_properties(given, ProducerSettings)
    names = {"transactional_id": f"deliveryGuarantee '{EXACTLY_ONCE}'"}
    return checked_properties(given, ProducerSettings, names, transactional_id=_TRANSACTIONAL_ID)


def _given_or_none(given: GivenOptions, name: str) -> str | None:
    text = given.text(name)
    if text == "":
        raise ConfigError(f"{name}: the value is empty")
    return text


def _check_guarantee(options: WriteOptions) -> None:
    prefix = options.transactional_id_prefix
    if options.guarantee == EXACTLY_ONCE and prefix is None:
        raise ConfigError(
            f"deliveryGuarantee '{EXACTLY_ONCE}' needs transactionalIdPrefix: a name for this query alone, "
            "the same at every start"
        )
    if options.guarantee == AT_LEAST_ONCE and prefix is not None:
        raise ConfigError(f"transactionalIdPrefix has no effect without deliveryGuarantee '{EXACTLY_ONCE}'")


def transactional(client: Mapping[str, str]) -> dict[str, str]:
    """The properties of a producer for transactions; each task has an id of its own in place of this one."""
    made = {**client, "transactional.id": _TRANSACTIONAL_ID}
    if not _DECIDE_THE_TIMEOUT & made.keys():
        made["transaction.timeout.ms"] = str(TRANSACTION_TIMEOUT_MS)
    return made


def _with_defaults(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, and defaults for rows by the thousand where the job says nothing under any name."""
    rows = {row.dotted: row for row in ProducerSettings.table.values()}
    names = {name: {name, rows[name].keyword, *rows[name].aliases} for name in _DEFAULTS}
    return {**{name: value for name, value in _DEFAULTS.items() if not names[name] & properties.keys()}, **properties}
