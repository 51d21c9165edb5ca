"""What a notebook shows of records, results and snapshots: tables that are short, complete, and do nothing but show."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

import kwire
from kwire import Admin, Consumer, Producer, ShareConsumer, records
from kwire._html import of_fields, of_rows, shown
from kwire.admin import DelegationToken
from kwire.consumer import ConsumerRecords, TopicPartition
from kwire.engine.common.secret import Secret
from kwire.errors import KafkaError
from kwire.testing import Broker

STYLES = ("border-collapse", "font-weight", "text-align", "border-bottom", "vertical-align", "opacity")


class Page(HTMLParser):
    """The table of a notebook, as a browser understands it; fails where there is anything else than cells in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.cells: list[list[str]] = []
        self._in_cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "table", "thead", "tbody", "tr", "th", "td", "bdi", "span")
        for name, value in attrs:
            if (tag, name, value) == ("bdi", "dir", "ltr"):
                continue
            assert name == "style"
            assert all(style.split(":")[0] in STYLES for style in (value or "").split(";"))
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        assert data.isprintable()
        self.texts.append(data)
        if self._in_cell:
            self.cells[-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    handle_decl = handle_pi = unknown_decl = handle_comment

    @property
    def heading(self) -> str:
        return self.texts[0]


def page_of(thing: Any) -> Page:
    return Page(thing._repr_html_())


def polled(*items: Any, topic: str = "orders") -> ConsumerRecords:
    return ConsumerRecords([(TopicPartition(topic, 3), records.decode(records.encode(items)))])


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"orders": 2}) as running:
        yield running


def test_a_poll_is_headed_by_what_it_is_and_has_its_first_and_last_records() -> None:
    page = page_of(polled(*((b"v%d" % i, b"k%d" % i, 1_700_000_000_000 + i, [("h", b"x")]) for i in range(1000))))
    assert page.heading.startswith("1,000 records, orders, 1 partition, ")
    assert page.heading.endswith("kB, 2023-11-14 22:13:20.000Z to 2023-11-14 22:13:20.999Z")
    assert page.cells[0] == ["partition", "offset", "timestamp", "key", "value", "headers"]
    assert [row[1] for row in page.cells[1:]] == ["0", "1", "2", "3", "4", "…", "995", "996", "997", "998", "999"]
    assert page.cells[-1] == ["3", "999", "2023-11-14 22:13:20.999Z", "k999", "v999", "[[h, x]]"]


def test_values_that_are_no_text_are_hexadecimal_and_nulls_are_seen() -> None:
    page = page_of(polled((b"\0\0\0\7", None), ("žluť".encode(), b"\xff\xfe"), (b"", b"a\nb")))
    assert [row[3:5] for row in page.cells[1:]] == [["null", "0x00000007"], ["0xfffe", "žluť"], ["a\\nb", ""]]


ATTACKS = (
    b"<script>alert(1)</script>",
    b"<img src=x onerror=alert(1)>",
    b'" onmouseover="alert(1)" x="',
    b"' style='background:url(javascript:alert(1))",
    b"</td></table><iframe src=javascript:alert(1)>",
    b"<!-- &lt;script&gt; &#60;script&#62; ]]>",
    "\u202egnp.exe\u2066\u200f".encode(),
    b"\x1b]0;title\x07\x9b",
    "\u2028\u2029\u0085\ufeff".encode(),
    b"+ADw-script+AD4-",
    b"${jndi:ldap://x} $\\require{html}$ {{constructor}}",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_an_attacker_wrote_is_shown_and_nothing_else(attack: bytes) -> None:
    text = attack.decode("latin-1")
    page = page_of(polled((attack, attack, None, [(attack.decode("utf-8", "replace"), attack)]), topic=text))
    assert len(page.cells) == 2
    assert len(page.cells[1]) == 6
    if attack.isascii() and text.isprintable():
        assert page.cells[1][4] == text
    for thing in (of_rows({text: {attack: text}}, text, text), of_fields(text, [(text, attack), (text, [text])])):
        Page(thing)


@given(some.recursive(some.none() | some.booleans() | some.integers() | some.floats() | some.text() | some.binary(),
                      lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner)))  # fmt: skip
def test_any_value_is_a_short_text(value: Any) -> None:
    assert len(shown(value)) <= 100
    Page(of_rows([value, {"a": value}, value]))
    Page(of_rows({"a": value, "b": {"c": value}}))


def test_a_value_that_cannot_be_shown_does_not_fail_the_table() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert shown(Odd()) == "<Odd>"
    assert shown(10**5000) == "<int>"
    deep: list[Any] = []
    deep.append(deep)
    assert len(shown(deep)) <= 100


def test_a_table_has_a_limit_whatever_is_in_it() -> None:
    large = b"&" * 10_000_000
    page = polled((large, b'"' * 1000, None, [("'" * 300, large)]), *[(b"<" * 999, b"&" * 999)] * 12)
    before = time.perf_counter()
    html = page._repr_html_()
    assert time.perf_counter() - before < 2
    assert len(html) < 40_000
    assert "(10,000,000 bytes)" in html
    assert len(of_rows({"k" * 999 + str(i): "v" * 9999 for i in range(10_000)})) < 100_000
    assert len(of_rows([[("<" * 999)] * 1000] * 1000)) < 100_000
    assert len(of_fields("<" * 10**6, [("x" * 10**6, "y" * 10**6)] * 100_000)) < 100_000


def test_a_million_records_cost_no_more_than_ten() -> None:
    many = records.decode(records.encode([b"x"] * 1_000_000))
    with patch("kwire._html._cell", wraps=kwire._html._cell) as made:  # type: ignore[attr-defined]
        page = page_of(many)
    assert page.heading.startswith("1,000,000 records, ")
    assert made.call_count == 50


def test_records_of_several_topics_say_which() -> None:
    part = records.decode(records.encode([b"x"]))
    page = page_of(ConsumerRecords([(TopicPartition(name, 0), part) for name in "abcde"]))
    assert page.heading.startswith("5 records, a, b, c and 2 more, 5 partitions, ")
    assert [row[0] for row in page.cells] == ["topic", "a", "b", "c", "d", "e"]
    assert page_of(ConsumerRecords()).texts == ["0 records"]


def test_one_record_is_shown_by_its_fields() -> None:
    page = page_of(polled((b"v", b"k", 5, [("h", None)]))[0])
    assert page.heading == "ConsumerRecord"
    assert ["topic", "orders"] in page.cells
    assert ["timestamp", "1970-01-01 00:00:00.005Z"] in page.cells
    assert page_of(records.Record(b"v")).cells == [
        ["offset", "-1"], ["timestamp", "-1"], ["key", "null"], ["value", "v"], ["headers", "[]"],
    ]  # fmt: skip


def test_deserialized_values_are_shown(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, value_serializer="json") as producer:
        producer.send("orders", {"name": "<b>"}, partition=0)
    with Consumer(broker.bootstrap_servers, value_deserializer="json", auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        found = consumer.poll(10)
        assert page_of(found).cells[1][-2] == "{name: <b>}"
        assert ["value", "{name: <b>}"] in page_of(found[0]).cells


def test_a_delivery_says_how_far_it_is_and_its_error_counts_as_not_looked_at(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=60_000, max_block_ms=200) as producer:
        delivery = producer.send("orders", b"x", partition=0, timestamp=5)
        assert page_of(delivery).cells == [
            ["topic", "orders"], ["partition", "null"], ["state", "pending"], ["error", "null"],
        ]  # fmt: skip
        metadata = delivery.result(10)
        assert page_of(delivery).cells == [
            ["topic", "orders"], ["partition", "0"], ["state", "delivered"], ["offset", "0"],
            ["timestamp", "1970-01-01 00:00:00.005Z"],
        ]  # fmt: skip
        assert page_of(metadata).heading == "RecordMetadata"
        failed = producer.send("orders", b"x", partition=77)
        while not failed.done():
            time.sleep(0.01)
        assert ["state", "failed"] in page_of(failed).cells
        with pytest.raises(kwire.errors.DeliveryError):  # which it is not for errors that were looked at
            producer.flush(10)


def test_what_admin_returns_is_equal_to_plain_results_and_shown_as_tables(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin, Consumer(broker.bootstrap_servers, group_id="g") as consumer:
        consumer.assign([("orders", 0)])
        consumer.commit({TopicPartition("orders", 0): 0})
        topics, names, lag = admin.describe_topics(), admin.list_topics(), admin.lag("g")
        assert page_of(topics).heading == "2 topics"
        assert page_of(topics).cells[0][:3] == [
            "name",
            "topic_id",
            "is_internal",
        ]
        assert page_of(topics["orders"]).heading == "TopicInfo"
        assert "partitions: 2" in page_of(topics["orders"]).texts
        assert sorted(row[4] for row in page_of(topics).cells[1:]) == ["2", "50"]
        assert page_of(names).cells == [["topic"], ["__consumer_offsets"], ["orders"]] or names == ["orders"]
        assert page_of(lag).cells == [["topic", "partition", "lag"], ["orders", "0", "0"], ["orders", "1", "null"]]
        assert lag == {("orders", 0): 0, ("orders", 1): None}
        assert repr(lag) == repr(dict(lag))
        assert pickle.loads(pickle.dumps((lag, names))) == (lag, names)
        assert page_of(admin.list_groups()).heading == "1 group"
        assert page_of(admin.describe_consumer_groups(["g"])["g"]).heading == "GroupDescription"
        configs = page_of(admin.describe_configs([("topic", "orders")]))
        assert configs.heading.endswith(" configs")
        assert configs.cells[0][:4] == ["type", "name", "name", "value"]
        assert page_of(admin.list_consumer_group_offsets("g")).heading == "1 offset"
        assert page_of(admin.describe_cluster()).heading == "ClusterDescription"


def test_a_write_says_where_its_rows_went(broker: Broker) -> None:
    wrote = kwire.write(pa.table({"value": ["a", "b", "c"]}), "orders", broker.bootstrap_servers, partition=1)
    assert wrote == 3
    assert repr(wrote) == "3"
    page = page_of(pickle.loads(pickle.dumps(wrote)))
    assert (page.heading, page.cells) == ("3 rows acknowledged by orders", [["partition", "next offset"], ["1", "3"]])


def test_counts_and_health_of_every_client(broker: Broker) -> None:
    for kind, more in ((Producer, {}), (Consumer, {"group_id": "g"}), (ShareConsumer, {"group_id": "s"}), (Admin, {})):
        with kind(broker.bootstrap_servers, **more) as client:
            counts = page_of(client.metrics())
            assert counts.heading == f"{len(client.metrics())} metrics"
            assert len(counts.cells) == len(client.metrics()) + 1
            health = page_of(client.health())
            assert health.heading.startswith("health of a ")
            assert ["buffered_bytes", "0"] in health.cells
    with Consumer(broker.bootstrap_servers) as consumer:
        consumer.assign([("orders", 0)])
        consumer.end_offsets([("orders", 0)])
        health = page_of(consumer.health())
        assert {"brokers: 1", "assigned: 1"} <= {*health.texts}
        assert health.cells[-2:] == [["topic", "partition"], ["orders", "0"]]


def test_no_secret_is_in_a_table() -> None:
    token = DelegationToken("id", Secret("s3cr3t-hmac"), "User:a", "User:a", 1, 2, 3, ())
    assert "s3cr3t" not in token._repr_html_() + of_rows([token]) + of_rows({"a": [Secret("s3cr3t")]})
    assert "[hidden]" in token._repr_html_()
    error = KafkaError("<script>")
    assert "&lt;script&gt;" in of_rows({"a": error})


def test_nothing_is_imported_before_something_is_shown() -> None:
    code = (
        "import sys; from kwire import records; import kwire.admin, kwire.consumer, kwire.producer\n"
        "rs = records.decode(records.encode([b'x'])); repr(rs)\n"
        "assert 'kwire._html' not in sys.modules and 'html' not in sys.modules\n"
        "rs._repr_html_(); assert 'kwire._html' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
