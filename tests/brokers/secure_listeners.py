"""Real brokers with every kind of listener, for a person at the shell: their keys and realm in a folder of its own, and
what a client has to know to log in.
"""

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.brokers.folders import new_folder
from tests.brokers.kdc import Kdc
from tests.brokers.keys import Keys
from tests.brokers.listeners import USERS
from tests.brokers.secure_cluster import SecureCluster
from tests.certificates import PASSWORD as PASSWORD_OF_KEYS


@contextlib.contextmanager
def listening(
    release: str, nodes: int, overrides: dict[str, str]
) -> Iterator[tuple[SecureCluster, Callable[[], None]]]:
    """A cluster to start, and what prints its listeners, users and files once it is up; the folder goes at the end."""
    folder = new_folder("secure")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        missing = Kdc.missing()
        kdc = None if missing else stack.enter_context(Kdc(folder / "realm"))
        cluster = SecureCluster(release, Keys(folder / "keys"), kdc, nodes=nodes, overrides=overrides)
        yield cluster, partial(_describe, cluster, folder, kdc)


def _describe(cluster: SecureCluster, folder: Path, kdc: Kdc | None) -> None:
    for listener in cluster.listeners:
        print(f"{listener.name:16} {listener.address:18} {listener.protocol}")
    print(f"mechanisms       {', '.join(cluster.listeners.mechanisms)}")
    for name, password in USERS.items():
        print(f"user             {name} {password}")
    for path in sorted((folder / "keys").iterdir()):
        print(f"file             {path}")
    print(f"password         {PASSWORD_OF_KEYS} (of stores and keys)")
    for name, value in (kdc.client_environment if kdc else {}).items():
        print(f"environment      {name}={value}")
    sys.stdout.flush()
