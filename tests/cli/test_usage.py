"""The order in which arguments of a command may stand, and the numbers among them."""

from __future__ import annotations

from argparse import ArgumentError
from collections.abc import Callable

import pytest

from kwire.cli.usage import Parser, integer, natural, options_first, per_second, positive, seconds
from tests.cli.parsers import every_command


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


@pytest.mark.parametrize(
    ("read", "right", "wrong"),
    [
        (seconds, ["0.1", "60"], ["0", "-1", "nan", "inf", "9e9", "1_0h", ""]),
        (per_second, ["0.1", "1e6"], ["0", "-1", "nan", "inf", "1e300", "x"]),
        (positive, ["1", "007"], ["0", "-1", "1_0", " 1", "9" * 5000, "\N{SUPERSCRIPT TWO}"]),
        (natural, ["0", "12"], ["-1", "1_0", "1.0", "9" * 5000]),
        (integer, ["-3", "+3", "0"], ["--3", "1_0", "0x1", "9" * 5000]),
    ],
)
def test_numbers_that_can_be_and_that_cannot(read: Callable[[str], float], right: list[str], wrong: list[str]) -> None:
    parser = Parser()
    parser.add_argument("--number", type=read)
    for text in right:
        assert parser._get_values(parser._actions[-1], [text]) == float(text)
    for text in wrong:
        with pytest.raises(ArgumentError, match="is needed, not"):
            parser._get_values(parser._actions[-1], [text])


@pytest.mark.parametrize("command", every_command())
def test_no_option_is_refused_by_the_name_of_what_reads_it(command: str) -> None:
    parser = every_command()[command]
    for action in parser._actions:
        for text in ("no number", "9" * 5000) if action.type is not None else ():
            with pytest.raises(ArgumentError) as refused:
                parser._get_value(action, text)
            assert "invalid" not in str(refused.value), action.dest
