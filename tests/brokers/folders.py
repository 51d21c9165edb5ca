"""The temporary folder of a cluster, and those that killed processes left.

A folder is named after the process that made it (`kwire-kafka-PID-RELEASE-...`). Making a new one removes those
whose process is gone: a killed test session cannot clean up after itself.
"""

import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "kwire-kafka"


def new_folder(release: str) -> Path:
    """An empty folder for a cluster of this process."""
    _remove_orphans()
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}-{os.getpid()}-{release}-"))


def _remove_orphans() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}-*"):
        owner = folder.name.removeprefix(f"{_PREFIX}-").partition("-")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
