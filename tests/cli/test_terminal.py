"""What a terminal gets and a pipe does not: drawn tables, colour, progress."""

from __future__ import annotations

import re
import sys

import pytest

from kwire.cli.terminal import progress
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import on_screen

KWIRE = [sys.executable, "-m", "kwire"]
SEQUENCE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
WIDE = "注文-" * 12
COUNTS = """
import time
from kwire.cli.terminal import progress, print_error
with progress("orders", 2000, unit="records") as bar:
    for done in range(4):
        bar.advance(500)
        time.sleep(0.3)
    print_error("kwire x: a line")
"""


def plain(screen: str) -> list[str]:
    """The lines of a screen without colours."""
    return SEQUENCE.sub("", screen).splitlines()


def test_a_table_on_a_terminal_has_a_bold_head_and_numbers_to_the_right(broker: Broker) -> None:
    code, screen = on_screen([*KWIRE, "topics"])
    assert code == 0
    assert screen.startswith("\x1b[1mtopic")
    head, row, *_ = plain(screen)
    assert row.split() == ["orders", "3", "1", "0"]
    assert row.index("3") == head.index("partitions") + len("partitions") - 1


def test_a_table_is_folded_to_the_width_of_the_terminal(broker: Broker) -> None:
    broker.create_topic("a-long-name-" * 6, 1)
    code, screen = on_screen([*KWIRE, "topics"], columns=60)
    lines = plain(screen)
    assert code == 0
    assert max(map(len, lines)) <= 60
    assert "a-long-name-" * 6 in "".join(line.split("  ")[0].strip() for line in lines)


def test_wide_characters_take_up_two_columns() -> None:
    rows = f"[({WIDE!r}, 1), ('b', 22)]"
    code = f"from kwire.cli.output import show; show(('name', 'count'), {rows}, 'table')"
    _, screen = on_screen([sys.executable, "-c", code], columns=50)
    lines = plain(screen)
    shown = [sum(1 + (ord(each) > 0x2E80) for each in line.rstrip()) for line in lines if line.rstrip()]
    assert max(shown) <= 50
    assert shown[0] == shown[1] == shown[-1]


def test_control_characters_of_names_do_not_reach_the_terminal() -> None:
    code = r"from kwire.cli.output import show; show(('name',), [('a\x1b]0;owned\x07\n[red]b',)], 'table')"
    _, screen = on_screen([sys.executable, "-c", code])
    assert plain(screen)[1].rstrip() == r"a\x1b]0;owned\x07\n[red]b"


def test_a_pipe_gets_plain_lines(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("topics")
    assert outcome.lines == ["topic   partitions  replicas  offsets in use", "orders  3           1         0"]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_nothing_is_coloured_where_that_is_not_wanted(broker: Broker, environment: dict[str, str]) -> None:
    _, table = on_screen([*KWIRE, "topics"], environment=environment)
    code, error = on_screen([*KWIRE, "topics", "describe", "nothing"], environment=environment)
    assert code == 1
    assert "\x1b[3" not in table
    assert "\x1b" not in error


def test_errors_are_red_on_a_terminal(broker: Broker) -> None:
    _, failed = on_screen([*KWIRE, "topics", "describe", "nothing"])
    _, misused = on_screen([*KWIRE, "topics", "--no-such-option"])
    assert re.search(r"\x1b\[31mkwire topics: .*\x1b\[0m", failed)
    assert re.search(r"\x1b\[31mkwire topics list: error: .*\x1b\[0m", misused)


def test_progress_shows_count_rate_and_time_left_and_is_gone_at_the_end() -> None:
    code, screen = on_screen([sys.executable, "-c", COUNTS], columns=120)
    assert code == 0
    assert re.search(r"orders.*1,000/2,000 records.*\d/s.*0:00:0\d left", SEQUENCE.sub("", screen))
    assert "kwire x: a line" in plain(screen)
    assert screen.rpartition("\r")[2].rpartition("\x1b[2K")[2] == ""


def test_progress_is_silent_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("orders", unit="bytes") as bar:
        bar.expect(10)
        bar.describe("more")
        bar.advance(5)
    assert capsys.readouterr() == ("", "")


def test_without_rich_a_terminal_gets_plain_lines(broker: Broker) -> None:
    code = "import sys; sys.modules['rich'] = None; from kwire.cli.main import main; sys.exit(main(['topics']))"
    exit_code, screen = on_screen([sys.executable, "-c", code])
    assert (exit_code, screen.splitlines()[1]) == (0, "orders  3           1         0")
