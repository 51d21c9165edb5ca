"""`kwire decode --html`: what a page holds, that nothing from the wire acts in it, and how it is shown."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kwire import protocol
from kwire.cli import decode_page
from tests.cli.captures import Packet, Wire, pcap
from tests.cli.conftest import Kwire
from tests.cli.test_decode_capture import conversation, conversation_of_0_7, produce, produced, request, response, write
from tests.cli.test_decode_secrets import SECRET, TOKENS, assert_masked, login

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\u202egnp.\u2028\x1b[2J\"'"
CHROMIUM = shutil.which("chromium")


class Page(HTMLParser):
    """The elements of a page, its policy, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, Any] = {}
        self.code: dict[str, list[str]] = {"script": [], "style": []}
        self._within: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = None

    def handle_data(self, data: str) -> None:
        if self._within is None or self._within not in self.code:
            return
        _, attributes = self.elements[-1]
        if attributes.get("type") == "application/json":
            name = attributes["id"]
            assert name is not None
            assert name not in self.data
            self.data[name] = json.loads(data)
        else:
            self.code[self._within].append(data)

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.data["exchanges"]
        return found

    @property
    def policy(self) -> str:
        return next(a["content"] or "" for _, a in self.elements if a.get("http-equiv") == "Content-Security-Policy")


def page_of(kwire: Kwire, folder: Path, packets: list[Packet], *options: str) -> Page:
    outcome = kwire("decode", "--html", *options, write(folder, pcap(packets)))
    assert outcome.code == 0, outcome.err
    return Page(outcome.out.decode("ascii"))


# --- what it holds ---


def test_each_request_is_beside_its_answer_with_what_the_summary_says_of_them(kwire: Kwire, tmp_path: Path) -> None:
    page = page_of(kwire, tmp_path, conversation().packets)
    lines = kwire("decode", "--summary", "--json", str(tmp_path / "trace.pcap")).lines
    frames = {frame["frame"]: frame for frame in map(json.loads, lines)}
    requests = [frame for frame in frames.values() if frame["kind"] == "request"]
    assert [each["number"] for each in page.exchanges] == [frame["frame"] for frame in requests]
    for each, asked in zip(page.exchanges, requests, strict=True):
        assert (each["api"], each["version"], each["size"]) == (asked["api_name"], asked["version"], asked["size"])
        answer = frames.get(each.get("answer"), {})
        assert answer.get("answers") == (each["number"] if answer else None)
        assert each.get("latency") == answer.get("latency_us")
        assert each["errors"] == answer.get("error_codes", [])
        assert set(each["topics"]) == {*asked.get("topics", ()), *answer.get("topics", ())}
        assert page.data["summary"]["connections"][str(each["connection"])] == [asked["from"], asked["to"]]
    assert [each["errors"] for each in page.exchanges if each["errors"]] == [["NOT_LEADER_OR_FOLLOWER"]]
    assert [each["api"] for each in page.exchanges if "answer" not in each] == ["Produce"]


def test_fields_stand_there_as_decode_explains_them_with_their_bytes(kwire: Kwire, tmp_path: Path) -> None:
    frame = produced(3, error_code=6)
    page = page_of(kwire, tmp_path, conversation().packets)
    made = page.data["frame-7"]
    explained = protocol.describe(frame, "Produce", 9)
    leaves = [leaf for leaf in explained.leaves() if leaf.size]
    rows = [row for row in made["fields"] if row[6]]
    assert [(row[1], row[2], row[6]) for row in rows] == [
        (str(leaf.start), leaf.name, frame[leaf.start : leaf.end].hex(" ")) for leaf in leaves
    ]
    shown = next(row for row in rows if row[2] == "error_code")
    assert shown[4] == "6"
    assert "NOT_LEADER_OR_FOLLOWER" in shown[5]
    assert made["title"] == explained.title


def test_only_what_fits_the_limits_is_there_and_the_page_tells_what_is_not(
    kwire: Kwire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire().open()
    for number in range(1, 41):
        wire.ask(produce(number)).answer(produced(number, error_code=6 * (number in (3, 20))))
    page = page_of(kwire, tmp_path, wire.packets, "--max-exchanges", "30", "--max-details", "4")
    assert (len(page.exchanges), page.data["summary"]["left_out"]) == (30, 10)
    assert all("answer" in each for each in page.exchanges)
    assert {name for name in page.data if name.startswith("frame-")} == {f"frame-{n}" for n in (*range(1, 9), 40)}
    assert page.data["summary"]["without_details"] == 26
    monkeypatch.setattr(decode_page, "_MAX_DETAIL_BYTES", 10_000)
    page = page_of(kwire, tmp_path, wire.packets)
    assert len(page.exchanges) == 40
    assert sum(len(json.dumps(value)) for name, value in page.data.items() if name.startswith("frame-")) < 25_000
    assert page.data["summary"]["without_details"] > 30


def test_a_frame_of_very_many_fields_shows_the_first(
    kwire: Kwire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode_page, "_MAX_FIELDS", 5)
    made = page_of(kwire, tmp_path, conversation().packets).data["frame-2"]
    assert (len(made["fields"]), made["more"] > 50) == (5, True)


def test_options_choose_what_is_listed_and_answers_stay_with_their_requests(kwire: Kwire, tmp_path: Path) -> None:
    page = page_of(kwire, tmp_path, conversation().packets, "--key", "Produce")
    assert [each["api"] for each in page.exchanges] == ["Produce", "Produce"]
    page = page_of(kwire, tmp_path, conversation().packets, "--frame", "1")
    assert [(each["number"], each["answer"]) for each in page.exchanges] == [(1, 2)]


def test_damage_is_marked_and_what_precedes_it_is_there(kwire: Kwire, tmp_path: Path) -> None:
    whole = produced(1)
    damaged = whole[:9] + b"\x7f" + whole[10:]
    wire = Wire().open().ask(produce(1)).answer(damaged)
    page = page_of(kwire, tmp_path, wire.packets)
    assert [each["errors"] for each in page.exchanges] == [["damaged"]]
    made = page.data["frame-2"]
    assert [row[2] for row in made["fields"][:3]] == ["size", "header", "correlation_id"]
    assert [(row[6], row[7]) for row in made["fields"] if row[2] == "undecoded"] == [("", 1)]
    assert len(made["damages"]) == 1


def test_kafka_0_7_has_a_page_too(kwire: Kwire, tmp_path: Path) -> None:
    page = page_of(kwire, tmp_path, conversation_of_0_7(Wire().open()).packets)
    assert [(each["api"], each["version"], "answer" in each) for each in page.exchanges] == [
        ("Produce", "0.7", False), ("Offsets", "0.7", True), ("Fetch", "0.7", True), ("MultiFetch", "0.7", True),
    ]  # fmt: skip


def test_the_page_goes_to_the_file_that_is_named(kwire: Kwire, tmp_path: Path) -> None:
    trace, target = write(tmp_path, pcap(conversation().packets)), tmp_path / "page.html"
    outcome = kwire("decode", "--html", "-o", str(target), trace)
    assert (outcome.code, outcome.out) == (0, b"")
    assert target.read_bytes() == kwire("decode", "--html", trace).out
    outcome = kwire("decode", "--html", "-o", str(tmp_path / "no" / "page.html"), trace)
    assert (outcome.code, "No such file" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    "arguments", [["--html", "--json"], ["--html", "--errors"], ["--html", "--at", "0"], ["--json", "-o", "x.html"]]
)
def test_options_that_mean_something_else_are_refused(kwire: Kwire, tmp_path: Path, arguments: list[str]) -> None:
    outcome = kwire("decode", *arguments, write(tmp_path, pcap(conversation().packets)))
    assert (outcome.code, outcome.out, "--html" in outcome.err) == (2, b"", True)


def test_frames_and_records_have_no_page(kwire: Kwire, tmp_path: Path) -> None:
    path = tmp_path / "frame.bin"
    path.write_bytes(produce(1))
    outcome = kwire("decode", "--html", str(path))
    assert (outcome.code, outcome.out, "packet capture" in outcome.err) == (2, b"", True)


# --- what it must not do ---


def hostile() -> Wire:
    wire = Wire().open()
    asked = protocol.MetadataRequest(topics=[protocol.MetadataRequest.MetadataRequestTopic(name=HOSTILE)])
    topic = protocol.MetadataResponse.MetadataResponseTopic(name=HOSTILE, error_code=3)
    wire.ask(protocol.encode_request(asked, 12, correlation_id=1, client_id=HOSTILE))
    wire.answer(response(protocol.MetadataResponse(topics=[topic], cluster_id=HOSTILE), 12, 1))
    return wire.ask(produce(2, topic=HOSTILE))


def test_names_from_the_wire_add_nothing_to_the_page(kwire: Kwire, tmp_path: Path) -> None:
    def skeleton(page: Page) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in page.elements]

    plain = Wire().open().ask(request(protocol.MetadataRequest(topics=None), 12, 1))
    plain.answer(response(protocol.MetadataResponse(), 12, 1)).ask(produce(2))
    page = page_of(kwire, tmp_path, hostile().packets)
    assert skeleton(page) == skeleton(page_of(kwire, tmp_path, plain.packets))
    text = json.dumps(page.data, ensure_ascii=False)
    assert "</script><script>alert(1)" in page.exchanges[0]["topics"][0]
    assert page.exchanges[0]["client_id"].startswith("</script>")
    assert [odd for odd in "\u202e\u2028\x1b" if odd in text] == []


def test_the_policy_lets_the_one_script_and_style_act_and_nothing_else(kwire: Kwire, tmp_path: Path) -> None:
    page = page_of(kwire, tmp_path, hostile().packets)
    assert (len(page.code["script"]), len(page.code["style"])) == (1, 1)
    for kind, (code,) in page.code.items():
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in page.policy
    assert page.policy.startswith("default-src 'none';")
    assert "unsafe" not in page.policy
    loading = {"src", "href", "action", "data", "srcset", "style"}
    assert [attributes for _, attributes in page.elements if loading & set(attributes)] == []
    code = page.code["script"][0] + page.code["style"][0]
    assert re.findall(r"https?:|url\(|@import|fetch\(|XMLHttp|innerHTML|outerHTML|insertAdjacent|eval\(", code) == []


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("mechanism", TOKENS)
def test_tokens_are_masked(kwire: Kwire, tmp_path: Path, mechanism: str, announced: bool) -> None:
    packets = login(TOKENS[mechanism], announced=announced).packets
    assert_without_secret(page_of(kwire, tmp_path, packets))


def test_secret_fields_show_neither_value_nor_bytes_unless_asked_to(kwire: Kwire, tmp_path: Path) -> None:
    resource = protocol.IncrementalAlterConfigsRequest.AlterConfigsResource
    setting = resource.AlterableConfig(name="ssl.key.password", value=SECRET.decode())
    several = [resource(resource_type=2, resource_name="orders", configs=[setting] * 30)]
    message = protocol.IncrementalAlterConfigsRequest(resources=several)
    login_request = protocol.SaslAuthenticateRequest(auth_bytes=TOKENS["PLAIN"][0])
    whole = Wire().open().ask(request(message, 1, 1)).ask(request(login_request, 2, 2)).packets
    cut_off = Wire().open().ask(request(message, 1, 1)).packets
    cut_off[-1].captured = len(cut_off[-1].data) - 40
    for packets in (whole, cut_off):
        page = page_of(kwire, tmp_path, packets)
        assert page.exchanges
        assert_without_secret(page)
    revealed = json.dumps(page_of(kwire, tmp_path, whole, "--secrets").data)
    assert SECRET.decode() in revealed
    assert SECRET.hex(" ") in revealed


def assert_without_secret(page: Page) -> None:
    text = json.dumps(page.data)
    assert_masked(text)
    assert [part for at in range(len(SECRET) - 3) if (part := SECRET[at : at + 4].hex(" ")) in text] == []


# --- in a browser ---


def shown_by_chromium(page: Path, place: str, profile: Path) -> str:
    """The page as it stands after its script has run."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
    return subprocess.run(
        [*command, f"{page.as_uri()}{place}"], check=True, capture_output=True, text=True, timeout=60
    ).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_a_browser_lists_the_exchanges_filters_them_and_opens_one(kwire: Kwire, tmp_path: Path) -> None:
    packets = conversation(hostile()).packets
    target = tmp_path / "page.html"
    assert kwire("decode", "--html", "-o", str(target), write(tmp_path, pcap(packets))).code == 0

    def rows(dom: str) -> list[str]:
        return re.findall(r'<span class="api">([^<]*)</span>', dom)

    whole = shown_by_chromium(target, "", tmp_path / "profile")
    assert rows(whole) == [
        "Metadata v12", "Produce v9", "ApiVersions v3", "Metadata v12", "Produce v9", "Produce v9", "Fetch v13",
    ]  # fmt: skip
    assert "1 to 7 of 7 exchanges" in whole
    body = whole.partition('<ol id="list">')[2].partition("</ol>")[0]
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in body
    assert re.findall("<(?!/?(?:li|button|span)[ >])[^>]*>", body) == []
    answer = next(each for each in Page(whole).exchanges if "NOT_LEADER_OR_FOLLOWER" in each["errors"])
    place = f"#api=Produce&topic=orders&outcome=errors&open={answer['number']}"
    filtered = shown_by_chromium(target, place, tmp_path / "profile")
    assert rows(filtered) == ["Produce v9"]
    assert "NOT_LEADER_OR_FOLLOWER: the broker is not" in filtered
    assert '<span class="hex">00 06</span>' in filtered
