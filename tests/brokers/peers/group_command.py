"""Apache's own commands about groups as a second view of what Admin did: kafka-consumer-groups and its siblings.

Class names and options changed over the years; what is here was run with each release of the matrix.
"""

import subprocess

from tests.brokers.cluster import Cluster
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.peers.peer import WITHIN_S
from tests.brokers.processes import JVM_FLAGS, dying_with_parent

SHARE = "consumer.group.ShareGroupCommand"
STREAMS = "streams.StreamsGroupCommand"
_CONSUMER = "consumer.group.ConsumerGroupCommand"


def rows_of_command(cluster: Cluster, *arguments: str, command: str = _CONSUMER) -> list[dict[str, str]]:
    """The table that the command prints, by the names of its columns; [] where it prints none."""
    lines = [line.split() for line in _output(cluster, command, arguments).splitlines()]
    for place, line in enumerate(lines):
        if line and (line[0] in ("GROUP", "TOPIC") or line[:1] == ["GROUP:"]):
            return [dict(zip(line, row, strict=False)) for row in lines[place + 1 :] if len(row) > 1]
    return []


def groups_of_command(cluster: Cluster, *arguments: str, command: str = _CONSUMER) -> set[str]:
    """The groups that the command lists."""
    return {line.split()[0] for line in _output(cluster, command, ("--list", *arguments)).splitlines() if line.strip()}


def _output(cluster: Cluster, command: str, arguments: tuple[str, ...]) -> str:
    number = cluster.release.number
    main = f"org.apache.kafka.tools.{command}" if number >= (3, 8) else "kafka.admin.ConsumerGroupCommand"
    new = ("--new-consumer",) if number < (0, 11) else ()
    run = subprocess.run(
        dying_with_parent(
            [
                find_java(),
                *JVM_FLAGS,
                f"-Dlog4j.configuration=file:{cluster.folder / 'log4j-silent.properties'}",
                "-cp",
                f"{resolve_tools(cluster.release)}/*",
                main,
                *new,
                "--bootstrap-server",
                cluster.bootstrap_servers,
                *arguments,
            ]
        ),
        capture_output=True,
        text=True,
        timeout=2 * WITHIN_S,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(f"{main} ended with exit code {run.returncode}:\n{run.stdout}\n{run.stderr}")
    return run.stdout
