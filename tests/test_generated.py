"""What is generated is up to date, and --check tells what is not."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from scripts import generated


@pytest.mark.parametrize("writer", generated.WRITERS)
def test_what_a_script_writes_is_up_to_date(writer: str) -> None:
    assert not [path.name for path in generated.stale(writer)], "run `make docs`"


def test_every_script_that_writes_is_among_the_writers() -> None:
    scripts = Path(generated.__file__).parent.glob("*.py")
    assert {path.stem for path in scripts if "\ndef wanted(" in path.read_text()} == set(generated.WRITERS)


def test_a_check_names_what_is_stale_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh, old, missing = (tmp_path / name for name in ("fresh", "old", "missing"))
    fresh.write_text("text")
    old.write_text("another text")
    writer = ModuleType("writer")
    vars(writer)["wanted"] = lambda: dict.fromkeys((fresh, old, missing), "text")
    monkeypatch.setitem(generated.sys.modules, "scripts.writer", writer)
    monkeypatch.setattr(generated, "WRITERS", ("writer",))
    monkeypatch.setattr(generated, "ROOT", tmp_path)

    assert generated.main(["--check"]) == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["old", "missing"]
    assert (old.read_text(), missing.exists()) == ("another text", False)

    assert generated.main([]) == 0
    assert (old.read_text(), missing.read_text()) == ("text", "text")
    assert generated.main(["--check"]) == 0
