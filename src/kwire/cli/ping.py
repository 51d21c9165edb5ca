"""`kwire ping`: whether the brokers can be reached, step by step, and what is wrong where they cannot."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_connection_options, opened
from kwire.cli.output import FAILED, NOT_ALL, add_output_options, show
from kwire.cli.terminal import print_error
from kwire.cli.usage import Commands, positive, seconds
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.cli.reach.steps import Reach, Step

_EPILOG = """\
examples:
  kwire ping -b broker:9092                        each step to the brokers, once
  kwire ping -b broker:9093 --config client.properties    with TLS and a login
  kwire ping -c 10 --interval 0.5                  ten rounds, then least, mean and greatest times
  kwire ping --json | jq 'select(.fault)'          what is wrong, for a monitor

The steps are those of a client: the name, TCP to each of its addresses, TLS, ApiVersions (which tells the release), the
login, Metadata. The brokers that Metadata names follow, under the addresses by which clients are sent to them. Where a
step fails, standard error says what is usually wrong and what to do. Each address may take 10 s, or --timeout.
"""
_PATIENCE_S = 10.0
_SOON_DAYS = 30
_KEYS = ("round", "broker", "address", "step", "ms", "ok")


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "ping",
        help="whether the brokers can be reached, and what is wrong",
        description="Goes the way of a client to each broker: name, TCP, TLS, versions, login, metadata.",
        epilog=_EPILOG,
    )
    parser.add_argument("-c", "--count", type=positive, metavar="N", help="so many rounds (default: 1)")
    parser.add_argument(
        "-i", "--interval", type=seconds, metavar="SECONDS", help="between rounds (default: 1); alone, until Ctrl-C"
    )
    add_output_options(parser)
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 where all addresses answered in the last round, 1 where none did, 3 in between."""
    from kwire.admin import Admin
    from kwire.cli.reach.probe import Prober

    with opened(Admin, options) as admin:
        prober = Prober(admin.settings, options.timeout or _PATIENCE_S)
    times: dict[str, list[float]] = {}
    count = options.count or (None if options.interval else 1)
    code = 0
    try:
        for number in _paced(count, options.interval or 1.0):
            reached = asyncio.run(prober.reach_all())
            for each in reached:
                times.setdefault(str(each.address), []).extend([each.total_ms] * (each.fault is None))
            _show(options, number, reached)
            _tell(reached)
            code = _code(reached)
    finally:
        if count != 1:
            _sum_up(times)
    return code


def _paced(count: int | None, interval: float) -> Iterator[int]:
    """1, 2, 3 ... with a pause in between; for ever where the count is None."""
    for number in itertools.count(1) if count is None else range(1, count + 1):
        if number > 1:
            time.sleep(interval)
        yield number


def _show(options: argparse.Namespace, number: int, reached: Sequence[Reach]) -> None:
    if options.output == "json":
        keys = (*_KEYS, "facts", "fault", "advice")
        rows: list[Sequence[Any]] = [
            (*_row(number, each, step), step.facts, step.fault, step.advice) for each in reached for step in each.steps
        ]
        show(keys, rows, "json")
        return
    rows = [(*_row(number, each, step), _result(step)) for each in reached for step in each.steps]
    show((*_KEYS, "result"), rows, options.output)


def _row(number: int, reach: Reach, step: Step) -> Sequence[Any]:
    ms = None if step.ms is None else round(step.ms, 2)
    return number, reach.broker, str(reach.address), step.name, ms, step.fault is None


def _result(step: Step) -> str:
    facts = [f"{name} {_plain(value)}" for name, value in step.facts.items()]
    return ", ".join([*facts, *([step.fault] if step.fault else [])])


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _tell(reached: Sequence[Reach]) -> None:
    for each in reached:
        who = f"broker {each.broker} at {each.address}" if each.broker is not None else str(each.address)
        failed = each.fault
        if failed is not None:
            what = f"; {failed.advice}" if failed.advice else ""
            print_error(f"kwire ping: {who}, {failed.name}: {failed.fault}{what}")
            continue
        for step in each.steps:
            days = step.facts.get("expires_in_days")
            if days is not None and days < _SOON_DAYS:
                print_error(f"kwire ping: {who}: its certificate, or that of its CA, ends in {days} days")


def _code(reached: Sequence[Reach]) -> int:
    failed = sum(each.fault is not None for each in reached)
    return 0 if not failed else NOT_ALL if failed < len(reached) else FAILED


def _sum_up(times: dict[str, list[float]]) -> None:
    """Of each address how often all steps succeeded, and how long they took together."""
    for address, found in times.items():
        spread = f", {min(found):.1f}/{sum(found) / len(found):.1f}/{max(found):.1f} ms" if found else ""
        print(f"kwire ping: {address}: {counted(len(found), 'round')} without a fault{spread}", file=sys.stderr)
