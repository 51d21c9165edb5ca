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
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import partitioners, testing
from tests.snippets import ADDRESS, ROOT, blocks

DOCS = ROOT / "docs"
BY_SPARK = {"tutorials/spark-stream.md"}
"""Run by tests/spark/test_snippets.py."""
PAGES = sorted({path.relative_to(DOCS).as_posix() for path in [DOCS / "index.md", *DOCS.glob("*/*.md")]} - BY_SPARK)
_BROKER = re.compile(r"^<!-- broker: (\{.*\}) -->$", re.MULTILINE)
_FILE = re.compile(r"# ([\w./-]+\.py)\n")
_SHELL = 'kwire() { "$PYTHON" -m kwire "$@"; }; pytest() { "$PYTHON" -m pytest -p no:cacheprovider "$@"; }\n'


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with cluster(DOCS / page) as broker:
        program = Page(broker)
        for language, code in blocks(f"docs/{page}"):
            program.go_on(language, code)


class Page:
    """The blocks of one page, run one after the other."""

    def __init__(self, broker: testing.Broker) -> None:
        self._servers = broker.bootstrap_servers
        self._names: dict[str, Any] = {"__name__": "page"}
        self._printed = ""

    def go_on(self, language: str, code: str) -> None:
        """Runs the next block, or compares it with what the last one has printed."""
        code = code if language == "text" else code.replace(ADDRESS, self._servers)
        if language == "text":
            assert_shown(code, self._printed.replace(self._servers, ADDRESS))
        elif language == "python":
            self._printed = self._python(code)
        elif language == "sh":
            self._printed = self._shell(code)

    def _python(self, code: str) -> str:
        file = _FILE.match(code)
        if file is not None:
            Path(file[1]).write_text(code, encoding="utf-8")
            return ""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "<page>", "exec"), self._names)
        return printed.getvalue()

    def _shell(self, code: str) -> str:
        paths = os.pathsep.join(str(ROOT / folder) for folder in ("src", "."))
        given = {"PYTHON": sys.executable, "PYTHONPATH": paths, "KWIRE_BOOTSTRAP_SERVERS": self._servers}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", _SHELL + code],
            check=False,
            env={**os.environ, **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


def assert_shown(shown: str, printed: str) -> None:
    """Compares lines without the blanks at their ends."""
    wanted, found = (
        "".join(f"{line.rstrip()}\n" for line in text.strip("\n").split("\n")) for text in (shown, printed)
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
