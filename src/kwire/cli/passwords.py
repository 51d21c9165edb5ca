"""Secrets of the shell: new passwords, asked for on the terminal or the first line of a file or of standard input, and
files for what brokers make.

Never an argument, which `ps` shows to all users of the machine, and in no error.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from getpass import getpass

from kwire.cli.usage import Parser, UsageError
from kwire.errors import KafkaError


def add_password_options(parser: Parser) -> None:
    """Adds --password-file, and a --password that refuses whatever it is given."""
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        help="its first line is the password (default: it is asked for, or read from standard input)",
    )
    parser.add_argument("--password", nargs="?", const="", help=argparse.SUPPRESS)


def new_password(options: argparse.Namespace, whose: str) -> str:
    """The password that the user wants. UsageError where there is none."""
    if options.password is not None:
        raise UsageError("all users of the machine see the arguments: leave the password to --password-file or stdin")
    if options.password_file is not None:
        return _of_file(options.password_file)
    if sys.stdin.isatty():
        return _asked(whose)
    return _decoded(sys.stdin.buffer.readline(), "standard input")


def _of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            line = file.readline()
            is_open = os.fstat(file.fileno()).st_mode & stat.S_IROTH
    except OSError as error:
        raise UsageError(f"--password-file {path}: {error.strerror}") from error
    if is_open:
        print(f"kwire: {path} holds a password and is readable by all users: chmod 600 {path}", file=sys.stderr)
    return _decoded(line, f"--password-file {path}")


def _asked(whose: str) -> str:
    try:
        first = getpass(f"New password of {whose}: ", stream=sys.stderr)
        again = getpass("Once more: ", stream=sys.stderr)
    except EOFError:
        first = again = ""
    if not first:
        raise UsageError("an empty password is none")
    if first != again:
        raise KafkaError("the passwords differ; nothing was done")
    return first


def _decoded(line: bytes, source: str) -> str:
    try:
        found = line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError(f"{source}: the password is not UTF-8") from None
    if not found:
        raise UsageError(f"{source}: the first line, which is to be the password, is empty")
    return found


@contextmanager
def secret_file(path: str | None) -> Iterator[Callable[[str], str]]:
    """What keeps a secret, and returns what may be shown of it: all of it, where there is no file.

    The file is made before there is a secret that could be lost; only its owner reads it. It is removed again where an
    error ends the block. UsageError for one that exists, or cannot be made.
    """
    if path is None:
        yield str
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error

    def keep(secret: str) -> str:
        os.write(file, f"{secret}\n".encode())
        return f"in {path}"

    try:
        yield keep
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(file)
