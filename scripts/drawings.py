"""Draws docs/drawings/*.svg: layers as a stack of boxes, and what passes between parts as arrows in the order of time.

The drawings are the tables below. A step is (from, to, text); one whose ends are the same is what a part does alone.
Colours say where a thing happens: COMPILED in C without a Python object, PYTHON, or OUTSIDE of the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from scripts.sources import DOCS

FOLDER = DOCS / "drawings"
WIDTH = 860
COMPILED, PYTHON, OUTSIDE = "#fde7d9", "#d9efec", "#eceff1"
_FONT = 'font-family="Helvetica, Arial, sans-serif" font-size="12.5" fill="#263238"'
_ARROWHEAD = """\
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0 8 4 0 8z" fill="#37474f"/></marker></defs>"""
_KEY = ((COMPILED, "compiled"), (PYTHON, "Python"), (OUTSIDE, "outside of the client"))


class Part(NamedTuple):
    """A box: what it is called, what it does, and where that happens."""

    name: str
    text: str
    colour: str = PYTHON


Step = tuple[int, int, str]

LAYERS = (
    Part("shell", "cli/: may use all that is below"),
    Part("uses", "testing/: a broker in process; spark/: sources and sinks; tables, workers, contrib"),
    Part("clients", "Producer, Consumer, ShareConsumer, Admin, and the same in aio/; registry/, legacy/, log_files/"),
    Part("fronts", "what clients for threads and for asyncio share: arguments, and the waits of the engine"),
    Part("drivers", "sockets, TLS, threads or an event loop: bytes in and out, and the time", COMPILED),
    Part("engine", "decides everything, does no I/O: routing, retries, groups, transactions; hot halves are compiled"),
    Part("schema", "one typed class for each message, for all of its versions; compiled into a plan when first used"),
    Part("codec", "record batches, message sets, plans, compression, columns: one extension, _codec", COMPILED),
    Part("errors", "every exception; imports nothing"),
)
OUT = (
    Part("your thread", "", OUTSIDE),
    Part("accumulator", "batches by partition", COMPILED),
    Part("sender", "leaders, sequences", COMPILED),
    Part("reactor", "sockets", COMPILED),
    Part("broker", "", OUTSIDE),
)
OUT_STEPS = (
    (0, 1, "send(): the record's bytes go into an open batch"),
    (1, 0, "a Delivery, at once"),
    (1, 1, "full, or linger_ms is over, or somebody waits"),
    (1, 2, "batches that are ready"),
    (2, 2, "route to leaders; seal: compress, number, checksum"),
    (2, 3, "one request for each broker, five at most on the way"),
    (3, 4, "header and batches as they lie: one gather write"),
    (4, 3, "offset, or an error code"),
    (3, 1, "each batch: done, failed, or once more"),
    (1, 0, "Delivery.result(), callbacks"),
)
IN = (
    Part("broker", "", OUTSIDE),
    Part("reactor", "a pooled block", COMPILED),
    Part("fetcher", "positions", PYTHON),
    Part("index", "of one batch", COMPILED),
    Part("your program", "", OUTSIDE),
)
IN_STEPS = (
    (2, 0, "Fetch: about two megabytes, one response ahead"),
    (0, 1, "bytes, received into a block of C memory"),
    (1, 2, "frames: views of the block, nothing copied"),
    (2, 3, "checksum, decompress, one pass without the GIL"),
    (4, 2, "poll()"),
    (2, 4, "ConsumerRecords: no object for a record yet"),
    (4, 3, "iterate: a view for each record"),
    (4, 3, "to_arrow(): columns filled without the GIL"),
    (3, 4, "valid as long as you hold them"),
)
SEAM = (
    Part("your call", "", OUTSIDE),
    Part("Producer", "producer.py: rare things", PYTHON),
    Part("ProducerBase", "producer.pxi: each record", COMPILED),
    Part("Sender", "sender.py: error codes", PYTHON),
    Part("SenderBase", "sender.pxi: each request", COMPILED),
)
SEAM_STEPS = (
    (0, 2, "send(): no Python frame between"),
    (2, 4, "pump(): batches, requests, answers"),
    (4, 3, "hook: a leader is not known, a code is not 0"),
    (3, 4, "what to do: wait, ask metadata, fail"),
    (4, 2, "results, by pointer"),
    (0, 1, "close(), from_config(), transactions"),
)
GROUP = (
    Part("member A", "joins", PYTHON),
    Part("coordinator", "a broker", OUTSIDE),
    Part("member B", "leads", PYTHON),
)
GROUP_STEPS = (
    (0, 1, "JoinGroup: topics, assignors"),
    (1, 2, "heartbeat answer: the group rebalances"),
    (2, 2, "poll(): commit, on_revoked"),
    (2, 1, "JoinGroup"),
    (1, 2, "members and what they want, to the leader"),
    (2, 2, "the assignor shares partitions out"),
    (2, 1, "SyncGroup: an assignment for each"),
    (1, 0, "what is A's"),
    (0, 0, "poll(): on_assigned, fetch from what is committed"),
    (0, 1, "heartbeats, in the background; commits"),
)
TRANSACTION = (
    Part("program", "", OUTSIDE),
    Part("producer", "transactional_id", PYTHON),
    Part("coordinator", "of the id", OUTSIDE),
    Part("leaders", "of partitions", OUTSIDE),
    Part("reader", "read_committed", OUTSIDE),
)
TRANSACTION_STEPS = (
    (1, 2, "InitProducerId: fences its predecessor"),
    (0, 1, "with producer.transaction()"),
    (1, 3, "records, marked as of a transaction"),
    (1, 2, "offsets of the consumer's group, too"),
    (0, 1, "end of the block: every record is waited for"),
    (1, 2, "EndTxn: commit, or abort after an exception"),
    (2, 3, "a marker in each partition"),
    (3, 4, "all of it, or nothing"),
)
SINK = (
    Part("driver", "of Spark", PYTHON),
    Part("task 1", "a worker", PYTHON),
    Part("task 2", "a worker", PYTHON),
    Part("topics", "", OUTSIDE),
    Part("group", "prefix-query id", OUTSIDE),
)
SINK_STEPS = (
    (1, 3, "rows, in a transaction that stays open"),
    (2, 3, "rows, in another one"),
    (1, 0, "the name of its transaction"),
    (2, 0, "the name of its transaction"),
    (0, 4, "names and number of the batch, as one commit: decided"),
    (0, 3, "commit each; abort what else is open"),
    (0, 4, "after a crash: was this batch decided?"),
    (0, 3, "yes: commit what is left. No: abort, write again"),
)


def wanted() -> dict[Path, str]:
    """The drawings."""
    return {
        FOLDER / "layers.svg": stack(LAYERS),
        FOLDER / "way-out.svg": sequence(OUT, OUT_STEPS),
        FOLDER / "way-in.svg": sequence(IN, IN_STEPS),
        FOLDER / "seam.svg": sequence(SEAM, SEAM_STEPS),
        FOLDER / "group.svg": sequence(GROUP, GROUP_STEPS),
        FOLDER / "transaction.svg": sequence(TRANSACTION, TRANSACTION_STEPS),
        FOLDER / "exactly-once-sink.svg": sequence(SINK, SINK_STEPS),
    }


def stack(parts: Sequence[Part]) -> str:
    """Boxes on each other, each using only what is below it."""
    shapes = []
    for number, part in enumerate(parts):
        y = 16 + 46 * number
        shapes += [box(16, y, WIDTH - 32, 40, part.colour), text(32, y + 25, part.name, bold=True)]
        shapes.append(text(140, y + 25, part.text))
    return drawing(shapes, 16 + 46 * len(parts), {part.colour for part in parts})


def sequence(parts: Sequence[Part], steps: Sequence[Step]) -> str:
    """A column for each part, and an arrow for each step."""
    gap = WIDTH / len(parts)
    middles = [gap * (number + 0.5) for number in range(len(parts))]
    end = 100 + 40 * len(steps)
    shapes = [f'<line x1="{x:.0f}" y1="66" x2="{x:.0f}" y2="{end}" stroke="#b0bec5"/>' for x in middles]
    for part, x in zip(parts, middles, strict=True):
        shapes.append(box(x - gap / 2 + 8, 16, gap - 16, 50, part.colour))
        shapes.append(text(x, 46 if not part.text else 38, part.name, bold=True, anchor="middle"))
        shapes.append(text(x, 56, part.text, anchor="middle"))
    for number, (begin, to, label) in enumerate(steps):
        shapes += arrow(middles[begin], middles[to], 108 + 40 * number, f"{number + 1}. {label}")
    return drawing(shapes, end, {part.colour for part in parts})


def arrow(x: float, to: float, y: float, label: str) -> Iterator[str]:
    """From one column to another with a label above it, or a dot with a label where something happens."""
    if x == to:
        yield f'<circle cx="{x:.0f}" cy="{y}" r="4" fill="#37474f"/>'
    else:
        yield f'<line x1="{x:.0f}" y1="{y}" x2="{to:.0f}" y2="{y}" stroke="#37474f" marker-end="url(#end)"/>'
    width = 6.4 * len(label)
    middle = min(max((x + to) / 2, width / 2 + 8), WIDTH - width / 2 - 8)
    yield f'<rect x="{middle - width / 2 - 3:.0f}" y="{y - 20}" width="{width + 6:.0f}" height="15" fill="#fff"/>'
    yield text(middle, y - 8, label, anchor="middle")


def box(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A box with round corners."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return f'<rect x="{x:.0f}" y="{y:.0f}" {size} rx="6" fill="{colour}" stroke="#90a4ae"/>'


def text(x: float, y: float, words: str, *, bold: bool = False, anchor: str = "start") -> str:
    """One line of it."""
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{weight}>{escape(words, quote=False)}</text>'


def drawing(shapes: Sequence[str], height: float, colours: set[str]) -> str:
    """The whole picture, on white, with a key of its colours."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 36:.0f}" {_FONT}>',
        _ARROWHEAD,
        f'<rect width="{WIDTH}" height="{height + 36:.0f}" fill="#fff"/>',
        *shapes,
    ]
    x = 16
    for colour, name in _KEY:
        if colour in colours:
            lines += [box(x, height + 10, 14, 14, colour), text(x + 20, height + 22, name)]
            x += 40 + 7 * len(name)
    return "\n".join([*lines, "</svg>", ""])
