"""Java programs of this folder as class files, kept in the cache folder under a digest of their sources.

So a session compiles only what changed. Standard library only.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.brokers import BrokerError
from tests.brokers.java import OLDEST_JAVA, find_java
from tests.brokers.maven import cache_folder
from tests.brokers.processes import JVM_FLAGS

_PROGRAMS = Path(__file__).parent / "java_any"
_COMPILE_WITHIN_S = 120


def program(name: str, jars: Path, *, named_classes: bool = False) -> list[str]:
    """The command that runs a program of `java_any` with the classes in the folder `jars`.

    `named_classes`: it finds all classes by name when it runs, so that it is compiled once for all releases.
    """
    source = _PROGRAMS / f"{name}.java"
    classes = compiled("any" if named_classes else jars.parent.name, [source], None if named_classes else jars)
    return [find_java(), *JVM_FLAGS, "-cp", f"{classes}:{jars}/*", name]


def compiled(label: str, sources: Sequence[Path], jars: Path | None) -> Path:
    """The folder of the class files. `label` says which release the jars are of."""
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    folder = cache_folder() / "oracle" / f"{label}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _compile(sources, jars, partial)
        if not folder.is_dir():
            partial.rename(folder)
    except OSError:
        # Another process may have put the same classes in place between the look and the rename.
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _compile(sources: Sequence[Path], jars: Path | None, target: Path) -> None:
    # For the oldest Java that is let in, so that classes in the cache outlive a change of JDK.
    command = [find_java("javac"), "--release", str(OLDEST_JAVA), "-encoding", "UTF-8", "-d", str(target)]
    command += ["-cp", f"{jars}/*"] if jars is not None else []
    run = subprocess.run(
        [*command, *map(str, sources)], capture_output=True, text=True, timeout=_COMPILE_WITHIN_S, check=False
    )
    if run.returncode != 0:
        raise BrokerError(f"{', '.join(source.name for source in sources)}: no program\n{run.stdout}{run.stderr}")
