"""Says of built packages what is wrong with them, and what of a wheel weighs how much: `check_packages.py dist`."""

from __future__ import annotations

import json
import re
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

MAX_WHEEL_KB = 2500
"""What a wheel for Linux may weigh; it grows with the protocol, and shall not grow by accident."""
IN_A_WHEEL = {".py", ".pyi", ".so", ".typed", ".html"}
MODULES = {"kwire", "pyspark_kwire.py", "pyspark_kwire_log.py"}
NOT_IN_AN_SDIST = re.compile(r"\.(so|c|py[cod])$|/(tests|benchmarks|docs|\.github)/|__pycache__")


def main(folder: Path) -> int:
    """1 where something is wrong."""
    problems = [*sdist_problems(folder), *wheel_problems(folder)]
    for problem in problems:
        print(f"kwire: {problem}", file=sys.stderr)
    return 1 if problems else 0


def sdist_problems(folder: Path) -> Iterator[str]:
    """Of each sdist: files that do not belong there."""
    for path in folder.glob("*.tar.gz"):
        with tarfile.open(path) as archive:
            members = archive.getmembers()
        yield from (f"{path.name} has {name}" for name in names_that_match(NOT_IN_AN_SDIST, members))
        if len({(member.mtime, member.uid, member.uname) for member in members}) != 1:
            yield f"{path.name} has files of more than one time or owner"


def names_that_match(pattern: re.Pattern[str], members: Iterable[tarfile.TarInfo]) -> Iterator[str]:
    """Their names."""
    return (member.name for member in members if pattern.search(member.name))


def wheel_problems(folder: Path) -> Iterator[str]:
    """Of each wheel: files that do not belong there, no bill of materials, too much weight."""
    for path in folder.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            sizes = {member.filename: member.compress_size for member in archive.infolist() if not member.is_dir()}
            boms = [archive.read(name) for name in sizes if re.search(r"\.dist-info/sboms/kwire\.cdx\.json$", name)]
        code = [PurePosixPath(name) for name in sizes if ".dist-info/" not in name]
        yield from (
            f"{path.name} has {name}" for name in code if name.suffix not in IN_A_WHEEL or name.parts[0] not in MODULES
        )
        if [json.loads(bom)["metadata"]["component"]["name"] for bom in boms] != ["kwire"]:
            yield f"{path.name} has no bill of materials"
        weight = path.stat().st_size // 1000
        if weight > MAX_WHEEL_KB:
            yield f"{path.name} has {weight} kB, {MAX_WHEEL_KB} is the limit"
        print(f"{path.name}: {weight} kB in {len(sizes)} files; compressed: {heaviest(sizes)}")


def heaviest(sizes: dict[str, int]) -> str:
    """The rooms of the package and its extensions by their weight."""
    rooms: Counter[str] = Counter()
    for name, size in sizes.items():
        first, *rest = name.split("/")
        rooms[rest[0].partition(".")[0] if len(rest) > 1 or name.endswith(".so") else first] += size
    return ", ".join(f"{room} {size // 1000}" for room, size in rooms.most_common(12))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
