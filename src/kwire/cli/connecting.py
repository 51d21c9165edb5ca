"""What every command with a client has: where the brokers are, settings by their dotted names, how long to wait."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.cli.profiles import VARIABLE as PROFILE_VARIABLE
from kwire.cli.settings import CONFIG_VARIABLE, VARIABLE, Given
from kwire.cli.terminal import print_note
from kwire.cli.usage import seconds
from kwire.errors import ConnectError, DeliveryError, KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.consumer import Consumer
    from kwire.producer import Producer

    ClientType = TypeVar("ClientType", Admin, Consumer, Producer)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_DEFAULT = "localhost:9092"
_OVER_TIME = (ConnectError, KafkaTimeoutError)

SECURE_EXAMPLE = """
brokers with TLS and a login:
  kwire {command} --config client.properties
where client.properties is a file as Java's tools take it:
    security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512
    sasl.username=alice
    sasl.password=...
    # for a CA that the system does not trust; Java's ssl.truststore.location works, too
    ssl.ca.location=/etc/kafka/ca.pem
Passwords belong there (chmod 600 client.properties), not after -X: ps shows these to all users.
"""


def add_connection_options(parser: argparse.ArgumentParser, *, explained: bool = True) -> None:
    """Adds --bootstrap-servers, -X, --config and --timeout, after the command's own options, and unless `explained` is
    False an example to the end of the help."""
    group = _group(parser)
    group.add_argument(
        "-b",
        "--bootstrap-servers",
        metavar="HOST:PORT,...",
        help=f"where the brokers are (default: bootstrap.servers of the settings, the variable {VARIABLE}, {_DEFAULT})",
    )
    add_settings_options(parser, group, "client")
    if explained:
        _explain(parser, f"{parser.prog.split()[-1]} -b broker:9093")


def add_client_options(parser: argparse.ArgumentParser, client: str, example: str) -> None:
    """Adds -X, --config and --timeout; the help ends with `example`, a command, on brokers with TLS."""
    add_settings_options(parser, _group(parser), client)
    _explain(parser, example)


def _group(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    return parser.add_argument_group("brokers and settings")


def add_settings_options(parser: argparse.ArgumentParser, group: argparse._ArgumentGroup, client: str) -> None:
    """Adds -X, --config, --profile and --timeout to a group."""
    group.add_argument(
        "-X",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting of the {client} by its dotted name, as in request.timeout.ms=5000; may be repeated",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help=f"settings from a properties file, as Java's tools read it; -X overrides it (variable: {CONFIG_VARIABLE})",
    )
    group.add_argument(
        "--profile",
        metavar="NAME",
        help=f"settings from a profile of 'kwire config'; --config overrides it (variable: {PROFILE_VARIABLE})",
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="give up after this long without a broker or an answer (default: the settings', one or two minutes)",
    )
    group.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="show on standard error what the client does; -vv shows more",
    )


def _explain(parser: argparse.ArgumentParser, example: str) -> None:
    parser.epilog = f"{parser.epilog or ''}{SECURE_EXAMPLE.format(command=example)}"


def add_compression_option(parser: argparse._ActionsContainer) -> None:
    """Adds --compression; it is None unless given, so that a compression.type in the settings holds."""
    parser.add_argument("-z", "--compression", choices=CODECS, help="the codec of batches (default: none)")


@contextmanager
def opened(
    kind: type[ClientType],
    options: argparse.Namespace,
    servers: str | None = None,
    config: Mapping[str, str] | None = None,
    *,
    shared: bool = False,
    **more: Any,
) -> Iterator[ClientType]:
    """A client made of the command's options; `config` is what these overrule, `more` overrules them. UsageError for
    settings that cannot be. `shared`: the command has another client, which settings of -X may be for.
    """
    servers = servers or getattr(options, "bootstrap_servers", None)
    given = Given(options, kind.__name__, shared=shared, is_placed=servers is not None)
    if servers is None and not given.has_servers:
        servers = os.environ.get(VARIABLE, _DEFAULT)
    options.overruled = given.overruled(more)
    with given.errors_placed(), _warnings_told(None if shared else options.command):
        client = kind.from_config({**(config or {}), **given.values}, servers, **{**given.login, **more})
    with client:
        try:
            yield client
        except KeyboardInterrupt:
            _give_up(client)
            raise


def _give_up(client: Admin | Consumer | Producer) -> None:
    """Closes a producer without waiting for brokers: what is not delivered by now is not."""
    from kwire.producer import Producer

    if isinstance(client, Producer):
        with suppress(KafkaError):
            client.close(timeout=0)


@contextmanager
def _warnings_told(command: str | None) -> Iterator[None]:
    """Warnings about settings, as lines of the command on standard error; nowhere without one."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(each.message) for each in found if command is not None):
                print_note(f"kwire {command}: {text}")


def waiting(options: argparse.Namespace) -> dict[str, Any]:
    """--timeout as settings of an Admin or a Consumer."""
    return {} if options.timeout is None else {"default_api_timeout_ms": round(options.timeout * 1000)}


def patience_of(options: argparse.Namespace, error: KafkaError) -> str:
    """What to add to an error of a command whose --timeout is over: that it was that, and what it went over."""
    causes = error.exceptions if isinstance(error, DeliveryError) else (error,)
    if getattr(options, "timeout", None) is None or not any(isinstance(each, _OVER_TIME) for each in causes):
        return ""
    longer = " and ".join(getattr(options, "overruled", ()))
    return f" (--timeout {options.timeout:g}{f' goes over {longer}' if longer else ''})"


def producing(options: argparse.Namespace) -> dict[str, Any]:
    """--compression and --timeout as settings of a Producer."""
    settings: dict[str, Any] = {}
    if options.compression is not None:
        settings["compression"] = options.compression
    if options.timeout is not None:
        settings["delivery_timeout_ms"] = settings["max_block_ms"] = round(options.timeout * 1000)
    return settings
