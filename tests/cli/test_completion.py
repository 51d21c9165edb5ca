"""What a shell offers at TAB: by the script as bash runs it, and by bash at a terminal."""

from __future__ import annotations

import os
import pty
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import SOURCE

pytest.importorskip("argcomplete")

Complete = Callable[[str], list[str]]
DONE = """
eval "$(kwire completion bash)"
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9
_python_argcomplete kwire 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def environment(tmp_path: Path, broker: Broker) -> dict[str, str]:
    """One in which `kwire` is this one, and the broker its cluster."""
    command = tmp_path / "kwire"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kwire "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PYTHONPATH": SOURCE, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.fixture
def complete(environment: dict[str, str], tmp_path: Path) -> Complete:
    """What bash offers for the end of a line."""

    def offered(line: str) -> list[str]:
        script = DONE.format(line=shlex.quote(line))
        done = subprocess.run(
            ["bash", "-c", script], check=True, capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        assert done.stderr == ""
        return [word for word in done.stdout.splitlines() if word]

    return offered


def test_commands_verbs_and_options(complete: Complete) -> None:
    assert {"topics", "groups", "consume", "completion"} <= set(complete("kwire "))
    assert complete("kwire top") == ["topics "]
    assert complete("kwire topics ") == ["list", "describe", "create", "alter", "delete"]
    assert complete("kwire topics -b localhost:9092 de") == ["describe", "delete"]
    assert complete("kwire topics --out") == ["--output "]
    assert complete("kwire topics --output ") == ["table", "json", "csv"]
    assert complete("kwire topics describe --under") == ["--under-replicated "]


def test_topics_come_from_the_cluster(complete: Complete, broker: Broker) -> None:
    broker.create_topic("returns", 1)
    assert complete("kwire topics describe ") == ["orders", "returns"]
    assert complete("kwire consume ord") == ["orders "]
    assert complete("kwire topics -b localhost:1 describe ") == []
    assert complete(f"kwire topics -b {broker.bootstrap_servers} --json describe returns o") == ["orders "]
    assert complete("kwire partitions elect orders:") == ["0", "1", "2"]  # a colon begins a word of bash's
    assert complete("kwire partitions cancel ord") == ["orders:"]


def test_groups_brokers_and_what_has_configs(complete: Complete, kwire: Kwire, broker: Broker) -> None:
    kwire("produce", "orders", stdin=b"a\n")
    kwire("consume", "orders", "--group", "billing", "--from", "earliest", "-c", "1")
    assert complete("kwire lag ") == ["billing "]
    assert complete("kwire configs describe ")[:2] == ["topics", "brokers"]
    assert complete("kwire configs describe topics ") == ["orders "]
    assert complete("kwire configs set brokers ")[0] == "default"


def test_settings_values_and_files(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "client.properties").touch()
    assert complete("kwire consume orders -X fetch.max.b") == ["fetch.max.bytes="]
    assert complete("kwire consume orders --config cl") == ["client.properties "]
    assert complete("kwire produce orders --compression l") == ["lz4 "]
    assert complete("kwire acls list --operation desc") == ["describe", "describe_configs", "describe_tokens"]


def test_profiles(environment: dict[str, str], complete: Complete, tmp_path: Path) -> None:
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "home")
    path = tmp_path / "home" / "kwire" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[local]\n[production]\n")
    assert complete("kwire topics --profile ") == ["local", "production"]
    assert complete("kwire config show p") == ["production "]


@pytest.fixture
def silent() -> Iterator[str]:
    """A broker that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_that_is_silent_offers_nothing_soon(complete: Complete, silent: str) -> None:
    began = time.monotonic()
    assert complete(f"kwire topics -b {silent} describe ") == []
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("shell", "separator"), [("zsh", ":"), ("fish", "\t")])
def test_other_shells_get_verbs_with_what_they_do(environment: dict[str, str], shell: str, separator: str) -> None:
    script = f"""
    export _ARGCOMPLETE=1 _ARGCOMPLETE_SHELL={shell} _ARGCOMPLETE_IFS=$'\\n' _ARGCOMPLETE_SUPPRESS_SPACE=1
    [ {shell} = fish ] && export _ARGCOMPLETE_DFS=$'\\t'
    COMP_LINE='kwire topics del' COMP_POINT=16 kwire 8>&1 9>/dev/null
    """
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout == f"delete{separator}deletes topics with all their records"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_names_the_command(kwire: Kwire, shell: str) -> None:
    outcome = kwire("completion", shell)
    assert outcome.code == 0
    assert "complete" in outcome.out.decode()
    assert " kwire" in outcome.out.decode()


def test_without_argcomplete_it_says_what_to_install(kwire: Kwire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete.shell_integration", None)
    outcome = kwire("completion", "bash")
    assert (outcome.code, outcome.err) == (
        1,
        'kwire completion: completion needs argcomplete: pip install "kwire[shell]"\n',
    )


def test_tab_in_a_bash_at_a_terminal(environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    bash = ["bash", "--norc", "--noprofile", "-i"]
    settings = {**environment, "PS1": "", "TERM": "dumb"}
    with subprocess.Popen(
        bash, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, start_new_session=True
    ) as shell:
        os.close(theirs)
        os.write(ours, b'eval "$(kwire completion bash)"; echo read""y\n')
        read_until(ours, b"\nready")
        os.write(ours, b"echo kwire; kwire topics desc\tord\t--under\t")
        screen = read_until(ours, b"--under-replicated")
        os.write(ours, b"\nexit\n")
        read_until(ours, b"exit")
        os.close(ours)
        shell.wait(30)
    assert b"kwire topics describe orders --under-replicated" in screen


def read_until(terminal: int, end: bytes) -> bytes:
    """What the terminal shows, up to this."""
    shown = b""
    while end not in shown:
        shown += os.read(terminal, 4096)
    return shown
