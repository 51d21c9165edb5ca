"""What setup.py adds to setuptools: archives that are the same bytes whenever their content is, and what they tell.

With SOURCE_DATE_EPOCH, seconds since 1970, an sdist has that time on all its files, as a wheel has by setuptools
itself. A wheel has its bill of materials in `.dist-info/sboms/` (PEP 770). The README is shown by package indexes, too,
where its links have to be whole. No import but the standard library's and setuptools': an sdist is built with this.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class DatedSdist(sdist):
    """An sdist with one time, one owner and no rights but the usual ones, where SOURCE_DATE_EPOCH tells the time."""

    def make_archive(self, base_name: Any, kind: str, *args: Any, base_dir: Any = None, **kwargs: Any) -> str:
        """The path of the archive that was made of `base_dir`."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or kind != "gztar":
            return str(super().make_archive(base_name, kind, *args, base_dir=base_dir, **kwargs))
        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_dated(path, Path(base_dir), int(epoch))
        return str(path)


def write_dated(path: Path, folder: Path, epoch: int) -> None:
    """Writes a .tar.gz of the folder that depends on its content and the time alone."""

    def dated(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        archive.add(folder, arcname=folder.name, filter=dated)


def listed_wheel(materials: Callable[[str], dict[str, Any]]) -> type[bdist_wheel]:
    """The command that makes a wheel with the list of what is in it, given its version."""

    class ListedWheel(bdist_wheel):
        def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
            super().egg2dist(egginfo_path, distinfo_path)
            path = Path(distinfo_path, "sboms", "kwire.cdx.json")
            path.parent.mkdir()
            path.write_text(json.dumps(materials(self.distribution.get_version()), indent=1) + "\n", encoding="utf-8")

    return ListedWheel


def bill_of_materials(version: str, cython: str) -> dict[str, Any]:
    """What a wheel is made of, as CycloneDX writes it; dependencies are not in it, and stand in METADATA."""
    kwire, support = _component("kwire", version), _component("cython", cython)
    support["description"] = "Support code that the compiler writes into each extension."
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"lifecycles": [{"phase": "build"}], "component": kwire},
        "components": [support],
        "dependencies": [{"ref": kwire["bom-ref"], "dependsOn": [support["bom-ref"]]}, {"ref": support["bom-ref"]}],
    }


def _component(name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "purl": purl,
    }


def index_page() -> str:
    """The README for package indexes, by what the tree says of itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/kwire/_version.py").read_text(), re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return with_whole_links(readme, project.get("urls", {}).get("Repository"), f"v{version[1]}" if version else "main")


def with_whole_links(readme: str, repository: str | None, tag: str) -> str:
    """The text with links into the repository at that tag; while it has no address, with their words alone."""

    def whole(found: re.Match[str]) -> str:
        if repository is None:
            return "" if found["picture"] else found["text"]
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({repository}/{kind}/{tag}/{found['target']})"

    parts = _FENCED.split(readme)
    parts[::2] = [re.sub(r"\n{3,}", "\n\n", _LINK.sub(whole, part)) for part in parts[::2]]
    return "".join(parts)
