"""docs/spark.md names every option of a read."""

from __future__ import annotations

from kwire.spark.decoding import options as decoder_options
from kwire.spark.options import read as read_options
from tests.snippets import ROOT


def test_every_option_of_a_read_is_in_the_document() -> None:
    text = (ROOT / "docs/spark.md").read_text(encoding="utf-8")
    assert [name for name in sorted(read_options.NAMES - decoder_options.NAMES) if f"`{name}`" not in text] == []
