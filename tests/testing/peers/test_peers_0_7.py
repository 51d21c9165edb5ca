"""Unmodified clients of the days of Kafka 0.7 against the embedded broker, where Python 2.7 is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from kwire.legacy import Client
from kwire.testing import Broker
from tests.brokers.maven import cache_folder

PACKAGES = ("brod==0.4.3", "samsa==0.3.11", "kazoo==2.8.0")
SCRIPT = Path(__file__).with_name("peers_0_7.py")
Peer = Callable[[str], dict[str, Any]]


def python_2_7() -> str | None:
    places = [shutil.which("python2.7") or "", *glob(os.path.expanduser("~/.pyenv/versions/2.7*/bin/python2.7"))]
    for place in filter(None, places):
        ask = [place, "-c", "import pip, sys; print(sys.version_info[0])"]
        said = subprocess.run(ask, check=False, capture_output=True)
        if said.stdout.strip() == b"2":
            return place
    return None


@pytest.fixture(scope="module")
def packages() -> tuple[str, Path]:
    """(python2.7, the folder that the packages are in), installed into the cache when they are not there yet."""
    python = python_2_7()
    if python is None:
        pytest.skip("no Python 2.7 with pip on this machine")
    folder = cache_folder() / "python2.7" / "-".join(PACKAGES)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(dir=folder.parent)
        install = [python, "-m", "pip", "install", "-q", "--retries", "5", "--target", made, *PACKAGES]
        subprocess.run(install, check=True, capture_output=True, timeout=100)
        os.replace(made, folder)
    return python, folder


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(generation="0.7", num_partitions=2) as running:
        yield running


@pytest.fixture
def peer(packages: tuple[str, Path], broker: Broker) -> Peer:
    """Runs a client and gives what it saw."""

    def run(name: str) -> dict[str, Any]:
        python, folder = packages
        done = subprocess.run(
            [python, str(SCRIPT), name, str(broker.port)],
            check=False,
            capture_output=True,
            timeout=60,
            env={"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]},
        )
        assert done.returncode == 0, done.stderr.decode()
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return seen

    return run


def test_brod(broker: Broker, peer: Peer) -> None:
    with Client(broker.bootstrap_servers) as client:
        client.produce("kwires", [b"kwire wrote it", b"twice"], partition=0, magic=0)
        client.flush()
        seen = peer("brod")
        # Messages of magic 0 with 3 bytes take 12; brod counts the offset at which each begins.
        assert seen == {
            "latest": 24,
            "earliest": 0,
            "fetched": [[0, "one"], [12, "two"]],
            "elsewhere": [[0, "three"]],
            "theirs": [[0, "kwire wrote it"], [23, "twice"]],
            "at the end": [],
        }
        assert client.fetch("clicks").values() == [b"one", b"two"]
        assert client.fetch("clicks", 1).values() == [b"three"]


def test_samsa(broker: Broker, peer: Peer) -> None:
    with Client(broker.bootstrap_servers) as client:
        client.produce("kwires", [b"kwire wrote it", b"twice"], partition=0, magic=0)
        client.flush()
        seen = peer("samsa")
        assert seen["latest"] == [38]
        assert seen["earliest"] == [0]
        assert seen["fetched"] == [[0, "one"], [12, "two"], [24, "three"]]
        assert seen["many"] == [seen["fetched"], [[0, "four"], [13, "five"]]]
        assert seen["theirs"] == [[0, "kwire wrote it"], [23, "twice"]]
        assert client.fetch("others", 1).values() == [b"four", b"five"]
