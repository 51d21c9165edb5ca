"""mypy --strict over the samples of this folder: users' type checkers see fields, constructors and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thorough import THOROUGH

pytestmark = pytest.mark.skipif(not THOROUGH, reason="mypy reads all of kwire: KWIRE_THOROUGH=1")
SAMPLES = sorted(path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "__")))
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_mypy_agrees_with_the_sample(sample: Path) -> None:
    api = pytest.importorskip("mypy.api")
    arguments = ["--config-file", str(ROOT / "pyproject.toml"), "--strict", "--no-error-summary", str(sample)]
    out, complaints, status = api.run(arguments)
    assert (out, complaints, status) == ("", "", 0)
