"""Clients get in with every spelling of the same settings, and show no secret on the way."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from kwire import Admin, Consumer, Producer
from kwire.testing import Broker, Certificates
from kwire.testing.sasl.oauthbearer import unsecured_token
from tests.bad_http_server import BadServer, bad_server, drips_headers, read_head
from tests.certificates import PASSWORD, Issued
from tests.timing import PATIENT
from tests.token_endpoint import Endpoint, serving

HUSH = "hush-5f1c"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def get_in(config: Mapping[str, Any], broker: Broker) -> None:
    """Each client does something that only a broker can answer."""
    given = {"bootstrap.servers": broker.bootstrap_servers, **config}
    with Admin.from_config(given) as admin:
        assert "topic" in admin.list_topics()
    with Producer.from_config(given) as producer:
        end = producer.send("topic", b"value").result(timeout=PATIENT).offset + 1
    with Consumer.from_config(given) as consumer:
        consumer.assign([("topic", 0)])
        consumer.seek(("topic", 0), end - 1)
        assert [record.value for record in consumer.poll(timeout=PATIENT)] == [b"value"]


def test_logins_by_password(caplog: pytest.LogCaptureFixture) -> None:
    java = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    configs: list[dict[str, Any]] = [
        {**java, "sasl.jaas.config": f'{PLAIN} username="alice" password="{HUSH}";'},
        {
            **java,
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": f'{SCRAM} username="alice" password="{HUSH}";',
        },
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "alice",
            "sasl.password": HUSH,
        },
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "alice",
            "sasl_plain_password": HUSH,
        },
    ]
    with Broker(users={"alice": HUSH}, topics={"topic": 1}) as broker, caplog.at_level(logging.DEBUG):
        for config in configs:
            get_in(config, broker)
    assert HUSH not in caplog.text


def test_logins_by_token(caplog: pytest.LogCaptureFixture) -> None:
    base = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    token = unsecured_token("alice", time.time(), 60)
    with Broker(users={"alice": HUSH}, mechanisms=["OAUTHBEARER"], topics={"topic": 1}) as broker:
        with caplog.at_level(logging.DEBUG), serving(Endpoint((200, {"access_token": token}))) as endpoint:
            by_endpoint = {**base, "sasl.oauthbearer.token.endpoint.url": endpoint.url}
            for config in (
                {**base, "sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="alice";'},
                {**base, "sasl_oauth_token": lambda: (token, 60.0)},
                {**by_endpoint, "sasl.jaas.config": f'{OAUTH} clientId="me" clientSecret="{HUSH}" scope="all";'},
                {**by_endpoint, "sasl.oauthbearer.client.id": "me", "sasl.oauthbearer.client.secret": HUSH},
            ):
                get_in(config, broker)
    assert endpoint.requests
    assert HUSH not in caplog.text
    assert token not in caplog.text


def test_an_endpoint_that_drips_is_asked_anew_by_the_next_login() -> None:
    body = json.dumps({"access_token": unsecured_token("alice", time.time(), 600), "expires_in": 600})

    def answer(server: BadServer, connection: socket) -> None:
        if server.connections == 1:
            drips_headers(server, connection)
            return
        read_head(connection)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    with Broker(users={"alice": HUSH}, mechanisms=["OAUTHBEARER"], topics={"topic": 1}) as broker:
        with bad_server(answer) as endpoint:
            given = {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauthbearer_token_endpoint_url": endpoint.url,
                "sasl_oauthbearer_client_id": "me",
                "sasl_oauthbearer_client_secret": HUSH,
            }
            limits = {"socket_connection_setup_timeout_ms": 2000, "max_block_ms": int(PATIENT * 1000)}
            with Producer(broker.bootstrap_servers, **given, **limits) as producer:
                assert producer.send("topic", b"value").result(timeout=PATIENT).offset == 0
            assert endpoint.connections > 1


def issued(certificate: str, key: str) -> Issued:
    loaded: Any = serialization.load_pem_private_key(key.encode(), None)
    return Issued(x509.load_pem_x509_certificate(certificate.encode()), loaded, ())


def test_certificates(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = Certificates()
    client = issued(made.client_certificate_pem, made.client_key_pem)
    files = client.write(tmp_path)
    (tmp_path / "ca.pem").write_text(made.ca_pem)
    authority = Issued(x509.load_pem_x509_certificate(made.ca_pem.encode()), client.key, ())
    (tmp_path / "trust.p12").write_bytes(authority.trust_store)
    key = client.encrypted_key_pem
    configs: list[dict[str, Any]] = [
        {
            "ssl.truststore.location": str(tmp_path / "trust.p12"),
            "ssl.truststore.password": PASSWORD,
            "ssl.truststore.type": "PKCS12",
            "ssl.keystore.location": files.store,
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        },
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": made.ca_pem.replace("\n", " "),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": client.pem,
            "ssl.keystore.key": key,
            "ssl.key.password": PASSWORD,
        },
        {
            "ssl.ca.location": str(tmp_path / "ca.pem"),
            "ssl.certificate.location": files.certificate,
            "ssl.key.location": files.key,
        },
        {"ssl_cafile": str(tmp_path / "ca.pem"), "ssl_certfile": files.certificate, "ssl_keyfile": files.key},
    ]
    with Broker(tls="mutual", certificates=made, topics={"topic": 1}) as broker, caplog.at_level(logging.DEBUG):
        for config in configs:
            get_in({"security.protocol": "SSL", **config}, broker)
    assert PASSWORD not in caplog.text
    assert not any(line in caplog.text for line in key.splitlines()[1:3])
