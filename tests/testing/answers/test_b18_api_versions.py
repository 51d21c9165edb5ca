"""ApiVersions: what each release lists, and how it answers a version that it does not have."""

from __future__ import annotations

import struct

import pytest

from kwire import protocol
from kwire.errors import broker as codes
from kwire.protocol import ApiVersionsRequest
from kwire.schema.releases import RELEASES
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.requests import CloseConnectionError
from tests.testing.frames import spans
from tests.testing.in_process import InProcess

WITH_API_VERSIONS = [name for name in RELEASES if tuple(map(int, name.split("."))) >= (0, 10)]


@pytest.mark.parametrize("release", WITH_API_VERSIONS)
def test_every_release_lists_what_it_serves(release: str) -> None:
    broker = InProcess(release)
    listed = {api.api_key: (api.min_version, api.max_version) for api in broker.ask(ApiVersionsRequest(), 0).api_keys}
    expected = {key: span for key, span in spans(release).items() if key in HANDLERS}
    if int(release.split(".")[0]) >= 4:
        expected[0] = (0, expected[0][1])
    assert listed == expected


@pytest.mark.parametrize("version", range(6))
def test_every_version_is_answered(version: int) -> None:
    named = {"client_software_name": "test", "client_software_version": "1"} if version >= 3 else {}
    assert InProcess().ask(ApiVersionsRequest(**named), version).error_code == 0


@pytest.mark.parametrize(("release", "named"), [("0.10.2.2", []), ("3.9.2", [(18, 0, 4)]), ("4.4.0", [(18, 0, 5)])])
def test_an_unknown_version_is_answered_in_version_0(release: str, named: list[tuple[int, int, int]]) -> None:
    broker = InProcess(release)
    frame = struct.pack(">hhih", 18, 99, 77, 4) + b"test" + b"\0\xff\xff"
    answer = b"".join(bytes(part) for part in broker.raw(frame).parts)
    header, response = protocol.decode_response(answer, 18, 0)
    assert header.correlation_id == 77
    assert isinstance(response, protocol.ApiVersionsResponse)
    assert response.error_code == codes.UNSUPPORTED_VERSION.code
    assert [(api.api_key, api.min_version, api.max_version) for api in response.api_keys] == named


def test_releases_before_0_10_do_not_know_it() -> None:
    assert not InProcess("0.9.0.1").begin(ApiVersionsRequest(), 0).answer.parts  # type: ignore[union-attr]
    with pytest.raises(CloseConnectionError, match="ApiVersions version 0"):
        InProcess("0.8.2.2").begin(ApiVersionsRequest(), 0)


def test_produce_below_3_is_listed_but_not_served_from_4_0_on() -> None:
    broker = InProcess("4.0")
    with pytest.raises(CloseConnectionError, match=r"Produce version 2 is not served by release 4\.0"):
        broker.begin(protocol.ProduceRequest(), 2)
