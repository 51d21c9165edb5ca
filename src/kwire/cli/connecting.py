"""What every command with a client has: where the brokers are, settings by their dotted names, how long to wait."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.cli.usage import UsageError, seconds, usage_errors

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.consumer import Consumer
    from kwire.producer import Producer

    ClientType = TypeVar("ClientType", Admin, Consumer, Producer)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
VARIABLE = "KWIRE_BOOTSTRAP_SERVERS"
_DEFAULT = "localhost:9092"


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Adds --bootstrap-servers, --config and --timeout."""
    parser.add_argument(
        "-b",
        "--bootstrap-servers",
        default=os.environ.get(VARIABLE, _DEFAULT),
        metavar="HOST:PORT,...",
        help=f"where the brokers are (default %(default)s; the variable {VARIABLE} changes it)",
    )
    add_client_options(parser, "client")


def add_client_options(parser: argparse.ArgumentParser, client: str) -> None:
    """Adds --config and --timeout."""
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting of the {client} by its dotted name, as in request.timeout.ms=5000; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="give up after this long without a broker or an answer (default: the settings', one or two minutes)",
    )


def add_compression_option(parser: argparse.ArgumentParser) -> None:
    """Adds --compression; it is None unless given, so that a compression.type in --config holds."""
    parser.add_argument("--compression", choices=CODECS, help="the codec of batches (default: none)")


@contextmanager
def opened(
    kind: type[ClientType],
    options: argparse.Namespace,
    servers: str | None = None,
    config: Mapping[str, str] | None = None,
    **more: Any,
) -> Iterator[ClientType]:
    """A client made of the command's options; `config` is what -c overrules. UsageError for settings that cannot be."""
    with usage_errors():
        client = kind.from_config(
            {**(config or {}), **settings_of(options)},
            options.bootstrap_servers if servers is None else servers,
            **more,
        )
    with client:
        yield client


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    """The settings given by --config. UsageError for one without `=`."""
    return name_value_pairs("--config", options.config)


def name_value_pairs(option: str, texts: list[str]) -> dict[str, str]:
    """{"a": "1"} from ["a=1"]. UsageError for a text without `=`."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text!r}: write NAME=VALUE")
        pairs[name] = value
    return pairs


def waiting(options: argparse.Namespace) -> dict[str, Any]:
    """--timeout as settings of an Admin or a Consumer."""
    return {} if options.timeout is None else {"default_api_timeout_ms": round(options.timeout * 1000)}


def producing(options: argparse.Namespace) -> dict[str, Any]:
    """--compression and --timeout as settings of a Producer."""
    settings: dict[str, Any] = {}
    if options.compression is not None:
        settings["compression"] = options.compression
    if options.timeout is not None:
        settings["delivery_timeout_ms"] = settings["max_block_ms"] = round(options.timeout * 1000)
    return settings
