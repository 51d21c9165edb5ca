"""What a change has run beyond the tests of every push."""

from __future__ import annotations

from pathlib import Path

from scripts.touched import NIGHTLY, NOTHING_MORE, changed_since, touched

ROOT = Path(__file__).resolve().parents[1]


PACKAGE = ROOT / "src/kwire"


def test_each_row_is_of_something_that_is_there() -> None:
    for part, runs in NIGHTLY.items():
        assert list(PACKAGE.glob(f"{part}*")), part
        assert all((ROOT / run).exists() for run in runs if run.startswith("tests/")), runs
        targets = [run for run in runs if not run.startswith("tests/")]
        assert all(f"\n{target}:" in (ROOT / "Makefile").read_text() for target in targets), targets


def test_each_folder_has_a_row_or_a_reason_to_have_none() -> None:
    files = [*PACKAGE.glob("*/**/*.py"), *PACKAGE.glob("*/**/*.pxi")]
    paths = {str(path.relative_to(PACKAGE)) for path in files if path.name != "__init__.py"}
    assert not [path for path in sorted(paths) if not path.startswith((*NIGHTLY, *NOTHING_MORE))]


def test_a_part_of_the_package_brings_its_tests() -> None:
    assert touched(["src/kwire/testing/broker.py"]) == ["tests/testing"]
    assert touched(["src/kwire/engine/groups/classic.py", "README.md"]) == [
        "tests/brokers/groups",
        "tests/brokers/test_group_balance.py",
    ]
    assert touched(["docs/spark.md"]) == []


def test_a_test_that_changed_is_run_unless_its_folder_is() -> None:
    assert touched(["tests/test_touched.py", "tests/spark/session.py"]) == ["tests/test_touched.py"]
    assert touched(["src/kwire/spark/options.py", "tests/spark/reading/test_read.py"]) == ["tests/spark"]


def test_a_commit_that_is_not_there_has_no_changes() -> None:
    assert changed_since("0" * 40) == []
