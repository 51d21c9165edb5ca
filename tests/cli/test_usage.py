"""The order in which arguments of a command may stand."""

from __future__ import annotations

import pytest

from kwire.cli.usage import Parser, options_first


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("orders -k a file", "-k a orders file"),
        ("orders file --key=a -Z -", "--key=a -Z orders file -"),
        ("orders -ka file", "-ka orders file"),
        ("orders --ke a file", "--ke a orders file"),
        ("orders -k", "orders -k"),
        ("orders -Z --unknown a -k b", "-Z orders --unknown a -k b"),
        ("orders -Z -- -k", "-Z orders -- -k"),
    ],
)
def test_options_go_before_names(given: str, expected: str) -> None:
    parser = Parser()
    parser.add_argument("-k", "--key")
    parser.add_argument("-Z", action="store_true")
    assert options_first(given.split(), parser._option_string_actions) == expected.split()
