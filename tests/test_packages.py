"""What packages are made with (dates, a bill of materials, links that are whole), and what is checked of them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from scripts.check_packages import main as check
from scripts.packages import bill_of_materials, index_page, with_whole_links, write_dated

from kwire import __version__
from tests.snippets import ROOT

README = """# kwire

See [the clients](docs/clients.md), [elsewhere](https://example.org) and [below](#install).

![A picture](docs/plots/a.svg)

```python
table = {"a": [1](docs/x)}
```
"""


def test_links_are_into_the_repository_at_the_version() -> None:
    page = with_whole_links(README, "https://example.org/kwire", "v1.2.3")
    assert "[the clients](https://example.org/kwire/blob/v1.2.3/docs/clients.md)" in page
    assert "![A picture](https://example.org/kwire/raw/v1.2.3/docs/plots/a.svg)" in page
    assert "[elsewhere](https://example.org) and [below](#install)" in page
    assert "[1](docs/x)" in page


def test_without_a_repository_the_words_of_links_stand_alone() -> None:
    page = with_whole_links(README, None, "v1.2.3")
    assert "See the clients, [elsewhere](https://example.org) and [below](#install)." in page
    assert "A picture" not in page
    assert "\n\n\n" not in page
    assert "[1](docs/x)" in page


def test_no_link_of_the_page_on_an_index_leads_into_nothing() -> None:
    page = re.sub(r"^```.*?^```$", "", index_page(), flags=re.MULTILINE | re.DOTALL)
    assert page.startswith("# kwire\n")
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", page) == []


def test_an_sdist_is_the_same_bytes_whatever_the_times_owners_and_rights_of_its_files(tmp_path: Path) -> None:
    hashes = set()
    for number, (mode, time) in enumerate([(0o600, 1), (0o664, 2_000_000_000)]):
        folder = tmp_path / str(number) / "kwire-1"
        (folder / "src").mkdir(parents=True)
        for name in ("b.py", "src/a.py")[:: 1 - 2 * number]:
            path = folder / name
            path.write_text(name)
            path.chmod(mode)
            os.utime(path, (time, time))
        made = tmp_path / f"{number}.tar.gz"
        write_dated(made, folder, 1_700_000_000)
        hashes.add(hashlib.sha256(made.read_bytes()).hexdigest())
        with tarfile.open(made) as archive:
            assert archive.getnames() == ["kwire-1", "kwire-1/b.py", "kwire-1/src", "kwire-1/src/a.py"]
            assert {member.mtime for member in archive} == {1_700_000_000}
    assert len(hashes) == 1


def test_the_bill_of_materials_names_what_is_in_a_wheel_and_nothing_else() -> None:
    bill = bill_of_materials(__version__, "3.3.1")
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/kwire@{__version__}"
    assert [part["purl"] for part in bill["components"]] == ["pkg:pypi/cython@3.3.1"]
    known = {bill["metadata"]["component"]["bom-ref"], *(part["bom-ref"] for part in bill["components"])}
    assert {each["ref"] for each in bill["dependencies"]} == known


def packages(folder: Path, *, extra: str = "", bill: str = "kwire", padding: int = 0) -> Path:
    """A wheel and an sdist as they should be, but for what is asked for."""
    with zipfile.ZipFile(folder / "kwire-1-cp311-cp311-linux_x86_64.whl", "w") as wheel:
        wheel.writestr("kwire/__init__.py", "#" * padding)
        wheel.writestr("kwire/_codec.cpython-311-x86_64-linux-gnu.so", "")
        wheel.writestr(
            "kwire-1.dist-info/sboms/kwire.cdx.json", json.dumps({"metadata": {"component": {"name": bill}}})
        )
        if extra:
            wheel.writestr(extra, "")
    with tarfile.open(folder / "kwire-1.tar.gz", "w:gz") as sdist:
        for name in ["kwire-1/setup.py", *([f"kwire-1/{extra}"] if extra else [])]:
            sdist.addfile(tarfile.TarInfo(name), io.BytesIO())
    return folder


def test_packages_as_they_should_be_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(packages(tmp_path)) == 0
    assert "0 kB in 3 files" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"extra": "kwire/_codec.c"}, ["has kwire-1/kwire/_codec.c", "has kwire/_codec.c"]),
        ({"extra": "tests/test_it.py"}, ["has kwire-1/tests/test_it.py", "has tests/test_it.py"]),
        ({"bill": "another"}, ["has no bill of materials"]),
        ({"padding": 3_000_000}, ["2500 is the limit"]),
    ],
)
def test_what_is_wrong_with_packages_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: dict[str, object], told: list[str]
) -> None:
    assert check(packages(tmp_path, **wrong)) == 1  # type: ignore[arg-type]
    shown = capsys.readouterr().err
    assert [phrase for phrase in told if phrase not in shown] == []


def test_the_conda_recipe_has_the_version_and_the_bounds_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == __version__
    requirements = recipe["requirements"]
    assert compact(requirements["run"]) == {"python", *project["project"]["dependencies"]}
    assert compact(requirements["host"]) == {"python", "pip", *project["build-system"]["requires"]}
    optional = {line for lines in project["project"]["optional-dependencies"].values() for line in lines}
    assert compact(requirements["run_constraints"]) <= optional
    (command,) = recipe["build"]["python"]["entry_points"]
    assert dict([command.split(" = ")]) == project["project"]["scripts"]


def compact(lines: list[str]) -> set[str]:
    return {line.replace(" ", "") for line in lines}


def test_one_list_of_pythons_is_declared_built_for_and_tested() -> None:
    """All but the first are in the matrix of each push, since the other jobs run on that one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    classifiers = project["project"]["classifiers"]
    declared = [found[1] for each in classifiers if (found := re.fullmatch(r"Programming .* :: (3\.\d+)", each))]
    assert project["project"]["requires-python"] == f">={declared[0]}"
    assert project["tool"]["cibuildwheel"]["build"] == " ".join(f"cp{each.replace('.', '')}-*" for each in declared)
    assert f"\nPYTHONS ?= {' '.join(declared)}\n" in (ROOT / "Makefile").read_text()
    for name, job, first in (("ci", "quick", 1), ("nightly", "pythons", 0)):
        workflow = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
        assert workflow["jobs"][job]["strategy"]["matrix"]["python"] == declared[first:], name
