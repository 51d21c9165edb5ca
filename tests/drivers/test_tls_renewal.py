"""Certificates that are replaced while clients live: the connections made later show and trust the new ones."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire import Consumer, Producer, aio
from kwire.drivers.tls import TlsClient
from kwire.engine.common.addresses import Address
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.settings.config import from_config
from tests.certificates import Authority
from tests.drivers.rotating import Site
from tests.timing import PATIENT


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.broker.stop()


def test_a_producer_and_a_consumer_go_on_with_new_certificates(site: Site) -> None:
    with (
        Producer.from_config(site.settings) as producer,
        Consumer.from_config(site.settings, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([("t", 0)])
        producer.send("t", b"before").result(timeout=PATIENT)
        assert consumer.poll(timeout=PATIENT).values() == [b"before"]
        site.rotate()
        consumer.seek_to_beginning()
        producer.send("t", b"after").result(timeout=PATIENT)
        assert consumer.poll(timeout=PATIENT).values() == [b"after"]


def test_a_producer_on_an_event_loop_goes_on_with_new_certificates(site: Site) -> None:
    async def main() -> None:
        async with aio.Producer.from_config(site.settings) as producer:
            await producer.send("t", b"before")
            site.rotate()
            await asyncio.wait_for(producer.send("t", b"after"), PATIENT)

    asyncio.run(main())
    assert site.broker.values("t") == [b"after"]


def client_of(**settings: str) -> TlsClient:
    return TlsClient.of(from_config(ProducerSettings, {}, bootstrap_servers="localhost:9093", **settings))


def connect(client: TlsClient) -> None:
    client.stream(Address("localhost", 9093))


def test_a_certificate_without_its_key_waits_for_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    authority = Authority()
    files = authority.issue("one").write(tmp_path)
    client = client_of(security_protocol="SSL", ssl_certificate_location=files.certificate, ssl_key_location=files.key)
    first = client.context
    two = authority.issue("two").write(tmp_path, "two")
    caplog.set_level(logging.INFO, "kwire.drivers")
    os.replace(two.certificate, files.certificate)
    connect(client)
    connect(client)
    assert client.context is first
    assert caplog.text.count("is not the key of the certificate in") == 1
    os.replace(two.key, files.key)
    connect(client)
    assert client.context is not first
    assert "are used from now on" in caplog.text


def test_a_file_in_a_directory_of_authorities_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.pem").write_text(Authority("one").pem)
    client = client_of(security_protocol="SSL", ssl_ca_location=str(tmp_path))
    before = client.context
    connect(client)
    assert client.context is before
    (tmp_path / "two.pem").write_text(Authority("two").pem)
    connect(client)
    assert len(client.context.get_ca_certs()) == 2


def test_files_that_vanish_change_nothing(tmp_path: Path) -> None:
    """A volume of secrets is unmounted for a moment, or its links are between two versions."""
    authority = tmp_path / "ca.pem"
    authority.write_text(Authority().pem)
    client = client_of(security_protocol="SSL", ssl_ca_location=str(authority))
    before = client.context
    authority.unlink()
    connect(client)
    assert client.context is before
