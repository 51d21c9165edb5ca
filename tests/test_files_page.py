"""Each file says what it is, for docs/files.md."""

from __future__ import annotations

from scripts.files_page import files, first_sentence


def test_every_file_says_in_one_sentence_what_it_is() -> None:
    assert not [path.name for path in files() if not first_sentence(path).endswith((".", "!"))]
