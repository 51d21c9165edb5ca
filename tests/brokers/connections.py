"""The connections of this process to a port of this machine, as the kernel lists them."""

import os
from pathlib import Path

_LOOPBACK = "0100007F"
_ESTABLISHED = "01"


def connections_to(port: int) -> set[int]:
    """The own ports of this process's connections that are open to that port."""
    ours = _socket_inodes()
    found = set()
    for line in Path("/proc/self/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        local, remote, state, inode = fields[1], fields[2], fields[3], fields[9]
        if remote == f"{_LOOPBACK}:{port:04X}" and state == _ESTABLISHED and inode in ours:
            found.add(int(local.partition(":")[2], 16))
    return found


def _socket_inodes() -> set[str]:
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[len("socket:[") : -1])
    return found
