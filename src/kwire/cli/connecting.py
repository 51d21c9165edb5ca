"""The options that every command with a client has: where the brokers are, and settings by their dotted names."""

from __future__ import annotations

import argparse
import os

from kwire.errors import ConfigError

VARIABLE = "KWIRE_BOOTSTRAP_SERVERS"
_DEFAULT = "localhost:9092"


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Adds --bootstrap-servers and --config."""
    parser.add_argument(
        "-b",
        "--bootstrap-servers",
        default=os.environ.get(VARIABLE, _DEFAULT),
        metavar="HOST:PORT,...",
        help=f"where the brokers are (default %(default)s; the variable {VARIABLE} changes it)",
    )
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the client by its dotted name, as in request.timeout.ms=5000; may be repeated",
    )


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    """The settings given by --config. Raises ConfigError for one without `=`."""
    settings = {}
    for text in options.config:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--config {text!r}: write NAME=VALUE")
        settings[name] = value
    return settings
