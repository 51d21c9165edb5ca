"""Resolves the jars of a release by one generated pom, once, into a cache folder.

The cache is $KWIRE_CACHE/kafka, or .cache/kafka in the repository. A folder in it is whole if and only if it is there
under its final name with the very pom that is wanted: it is filled under another name and renamed, so an interrupted
Maven leaves nothing that could be taken for whole. Maven's own repository is not made for several writers, so Maven
runs under one lock per user.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from tests.brokers.failures import BrokerError
from tests.brokers.java import find_maven
from tests.brokers.releases import ALWAYS_EXCLUDED, Release

_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_LOGGING = "org.slf4j:slf4j-api:1.7.36"
_TIMEOUT_S = 600
_TRIES = 2


def cache_folder() -> Path:
    """Where resolved releases and compiled test helpers are kept between runs."""
    chosen = os.environ.get("KWIRE_CACHE")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[2] / ".cache"


def resolve_release(release: Release) -> Path:
    """The folder with the broker's jars."""
    excluded = (*ALWAYS_EXCLUDED, *release.excluded)
    return resolve(f"{release.scala}-{release.version}", (release.artefact, *release.extras), excluded)


def resolve_tools(release: Release) -> Path:
    """The folder with the jars of the release's command line tools; the broker's own up to 3.7."""
    if release.tools is None:
        return resolve_release(release)
    logs = tuple(extra for extra in release.extras if "slf4j" in extra)
    return resolve(f"tools-{release.tools}", (f"org.apache.kafka:kafka-tools:{release.tools}", *logs), ALWAYS_EXCLUDED)


def resolve_clients(version: str) -> Path:
    """The folder with the jar of a release's clients, for releases that are not in the matrix."""
    return resolve(f"clients-{version}", (f"org.apache.kafka:kafka-clients:{version}", _LOGGING), ALWAYS_EXCLUDED)


def resolve(name: str, coordinates: Sequence[str], excluded: Sequence[str]) -> Path:
    """The folder `name` of the cache, holding the jars of these `group:artefact:version`s and all that they need."""
    folder = cache_folder() / "kafka" / name
    pom = _pom(coordinates, excluded)
    if _is_whole(folder, pom):
        return folder / "lib"
    with _maven_lock():
        if not _is_whole(folder, pom):
            _fill(folder, pom)
    return folder / "lib"


def _is_whole(folder: Path, pom: str) -> bool:
    kept = folder / "pom.xml"
    return kept.exists() and kept.read_text(encoding="utf-8") == pom


def _fill(folder: Path, pom: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (partial / "pom.xml").write_text(pom, encoding="utf-8")
        _run_maven(partial, folder.name)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run_maven(folder: Path, name: str) -> None:
    command = [find_maven(), "-B", "-q", "-f", str(folder / "pom.xml"), _GOAL]
    command += [f"-DoutputDirectory={folder / 'lib'}", "-DincludeScope=runtime"]
    said = ""
    for attempt in range(_TRIES):
        # A miss is remembered by Maven for a day: -U asks again.
        run = subprocess.run(
            command if attempt == 0 else [*command, "-U"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if run.returncode == 0 and any((folder / "lib").glob("*.jar")):
            return
        said = (run.stdout + run.stderr).strip()[-3000:]
    raise BrokerError(f"Maven could not resolve {name} in {_TRIES} tries:\n{said}")


@contextmanager
def _maven_lock() -> Iterator[None]:
    path = Path(tempfile.gettempdir(), f"kwire-maven-{os.getuid()}.lock")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _pom(coordinates: Sequence[str], excluded: Sequence[str]) -> str:
    exclusions = "".join(f"<exclusion>{_tags(name, 'groupId', 'artifactId')}</exclusion>" for name in excluded)
    dependencies = "".join(
        f"<dependency>{_tags(name, 'groupId', 'artifactId', 'version')}"
        f"<exclusions>{exclusions}</exclusions></dependency>"
        for name in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>kwire</groupId><artifactId>brokers</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def _tags(coordinate: str, *names: str) -> str:
    parts = coordinate.split(":")
    return "".join(f"<{name}>{escape(part)}</{name}>" for name, part in zip(names, parts, strict=True))
