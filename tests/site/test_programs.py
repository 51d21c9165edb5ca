"""The programs of the first page of docs/ and of those in its folders: run as they stand, they print what is shown.

A page's blocks run in order, each page with a broker of its own at the address that it names. Blocks of Python share
their names; one that begins with `# name.py` becomes that file instead. Blocks of `sh` run in bash, in the page's own
folder. A block of `text` is what the one before it has printed; `...` stands for anything. Other blocks are not run.

What a page may assume is the topic `orders` of docs/tutorials/start.md, and what its comment `<!-- broker: {...} -->`
says: arguments of `kwire.testing.Broker`, or `"orders": false` for a cluster that has nothing yet. Where there is TLS,
`ca.pem`, `client.pem` and `client.key` are in the page's folder.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import logging
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import partitioners, testing
from kwire.cli.main import main
from tests.snippets import ADDRESS, ROOT, blocks

DOCS = ROOT / "docs"
BY_SPARK = {"tutorials/spark-stream.md"}
"""Run by tests/spark/test_snippets.py."""
PAGES = sorted({path.relative_to(DOCS).as_posix() for path in [DOCS / "index.md", *DOCS.glob("*/*.md")]} - BY_SPARK)
_BROKER = re.compile(r"^<!-- broker: (\{.*\}) -->$", re.MULTILINE)
_FILE = re.compile(r"# ([\w-]+\.py)\n")
_COMMANDS = {"python": "", "kwire": "-m kwire", "pytest": "-m pytest -p no:cacheprovider"}
"""What the shell's blocks may call beside the system's commands, as arguments of this Python."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_shows(
    page: str, tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.WARNING)
    with cluster(DOCS / page) as broker:
        for name, value in given_to_commands(broker, commands).items():
            monkeypatch.setenv(name, value)
        program = Page(broker)
        for language, code in blocks(f"docs/{page}"):
            program.go_on(language, code)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs of these names, since a checkout may have none that are installed."""
    folder = tmp_path_factory.mktemp("commands")
    for name, arguments in _COMMANDS.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    return folder


def given_to_commands(broker: testing.Broker, commands: Path) -> dict[str, str]:
    """The environment of the shell's blocks. Of pytest's plugins its runs have kwire's own only: it starts sooner."""
    return {
        "KWIRE_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "kwire.testing.pytest_plugin",
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("src", ".")),
    }


class Page:
    """The blocks of one page, run one after the other."""

    def __init__(self, broker: testing.Broker) -> None:
        self._servers = broker.bootstrap_servers
        self._names: dict[str, Any] = {"__name__": "page"}
        self._printed = ""

    def go_on(self, language: str, code: str) -> None:
        """Runs the next block, or compares it with what the last one has printed."""
        if language == "text":
            assert_shown(code, self._printed.replace(self._servers, ADDRESS))
        elif language in ("python", "sh"):
            run = self._python if language == "python" else shell
            self._printed = run(code.replace(ADDRESS, self._servers))

    def _python(self, code: str) -> str:
        file = _FILE.match(code)
        if file is not None:
            Path(file[1]).write_text(code, encoding="utf-8")
            return ""
        with printed() as output:
            exec(compile(code, "<page>", "exec"), self._names)
        return output.buffer.getvalue().decode()


def shell(code: str) -> str:
    """What the commands print: kwire's own in this process, which starts none, and all else in bash."""
    lines = re.sub(r" *(?<!\S)#.*", "", code.replace("\\\n", "")).strip().splitlines()
    if any(not line.startswith("kwire ") or set("|<>;&$") & set(line) for line in lines):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout
    with printed() as output, contextlib.redirect_stderr(output):
        for line in lines:
            assert main(shlex.split(line)[1:]) == 0, output.buffer.getvalue().decode()
    return output.buffer.getvalue().decode()


@contextlib.contextmanager
def printed() -> Iterator[Any]:
    """Takes what is written to standard output; its `buffer` has the bytes."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output):
        yield output


def assert_shown(shown: str, printed: str) -> None:
    """Compares lines, whatever the width of their columns."""
    wanted, found = (
        "".join(f"{re.sub(r' {2,}', '  ', line).rstrip()}\n" for line in text.strip("\n").split("\n"))
        for text in (shown, printed)
    )
    assert doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS), f"shown:\n{wanted}\nprinted:\n{found}"


@contextlib.contextmanager
def cluster(page: Path) -> Iterator[testing.Broker]:
    """The broker that a page asks for, with what a page may assume."""
    wanted = _BROKER.search(page.read_text(encoding="utf-8"))
    options = json.loads(wanted[1]) if wanted else {}
    with_orders = options.pop("orders", True)
    with testing.Broker(**options) as broker:
        if with_orders:
            broker.create_topic("orders", 3)
            for number in range(10):
                append_order(broker, number)
        if "tls" in options:
            broker.certificates.write(Path.cwd())
        yield broker


def append_order(broker: testing.Broker, number: int) -> None:
    """As the program of docs/tutorials/start.md writes it."""
    customer = f"customer-{number % 4}"
    value = json.dumps({"id": number, "customer": customer, "amount": 2.5 * number})
    key = customer.encode()
    broker.append("orders", [(value.encode(), key)], partition=partitioners.java(key, 3))
