"""Brokers with many listeners each: every protocol and mechanism, right and wrong certificates, short sessions.

From 1.1 on a listener has a name and settings of its own, so that one broker has all of them. Older ones have one
listener per protocol with the same keys behind each, and one JAAS file; they look at a client's certificate where it
brings one. Inter-broker traffic stays on PLAINTEXT.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.brokers.kdc import SERVICE, Kdc
from tests.brokers.keys import Keys
from tests.brokers.ports import LOOPBACK, free_ports
from tests.brokers.properties import Properties
from tests.brokers.releases import Release
from tests.certificates import PASSWORD as PASSWORD_OF_KEYS

USERS = {"alice": "Alice-has-this-word-73", "admin": "The-admin-has-this-74"}
SESSION_LIFETIME_MS = 3000
_TOKEN_SECRET = "Signs-delegation-tokens-75"

_MODULES = "org.apache.kafka.common.security"
_BY_PROTOCOL = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener by its name, its protocol and the port where each node has it, in the order of their ids."""

    name: str
    protocol: str
    ports: tuple[int, ...]

    @property
    def port(self) -> int:
        """That of the first node."""
        return self.ports[0]

    @property
    def address(self) -> str:
        """All nodes, `127.0.0.1:port` with commas between."""
        return ",".join(f"{LOOPBACK}:{port}" for port in self.ports)

    @property
    def speaks_sasl(self) -> bool:
        """Whether clients must log in."""
        return self.protocol.startswith("SASL_")


class Listeners:
    """The listeners of one release, the configuration that opens them and the files that it names (in `folder`)."""

    def __init__(self, release: Release, keys: Keys, kdc: Kdc | None, folder: Path, *, nodes: int = 1) -> None:
        self._release = release
        self._keys = keys
        self._kdc = kdc
        self._folder = folder
        protocols = _protocols(release)
        if not self.mechanisms:
            protocols = {name: protocol for name, protocol in protocols.items() if protocol == "SSL"}
        self._listeners = {
            name: Listener(name, protocol, tuple(free_ports(nodes))) for name, protocol in protocols.items()
        }

    def __getitem__(self, name: str) -> Listener:
        return self._listeners[name]

    def __iter__(self) -> Iterator[Listener]:
        return iter(self._listeners.values())

    def __contains__(self, name: str) -> bool:
        return name in self._listeners

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The SASL mechanisms of every SASL listener."""
        return mechanisms(self._release, kerberos=self._kdc is not None)

    @property
    def jvm_flags(self) -> list[str]:
        """What the broker's Java must be told."""
        flags = [f"-Djava.security.krb5.conf={self._kdc.config}"] if self._kdc else []
        if not _has_names(self._release):
            # ZooKeeper's client would look for a login of its own in the file.
            flags += [f"-Djava.security.auth.login.config={self._jaas_file()}", "-Dzookeeper.sasl.client=false"]
        return flags

    @property
    def format_arguments(self) -> list[str]:
        """What KRaft's format must be told: the users of SCRAM."""
        if self._release.mode != "kraft":
            return []
        return [
            argument
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for user, password in USERS.items()
            for argument in ("--add-scram", f"{mechanism}=[name={user},password={password}]")
        ]

    def properties(self, node_id: int = 1) -> Properties:
        """What goes over the properties of a node."""
        found = self._places_of_listeners(node_id) | self._keys_of_listeners()
        if self._release.number >= (0, 10):
            found["sasl.enabled.mechanisms"] = ",".join(self.mechanisms)
        if self._kdc:
            found["sasl.kerberos.service.name"] = "kafka"
            # Old brokers ask Java for its default realm in a way that new Java forbids.
            found["sasl.kerberos.principal.to.local.rules"] = "RULE:[1:$1],RULE:[2:$1]"
        if _has_names(self._release):
            found |= self._logins()
            found |= {"listener.name.plain_only.sasl.enabled.mechanisms": "PLAIN"}
        if _has_delegation_tokens(self._release):
            secret = "secret" if self._release.number >= (3, 0) else "master"
            found[f"delegation.token.{secret}.key"] = _TOKEN_SECRET
        if self._release.number >= (2, 2):
            found |= {
                f"listener.name.{listener}.{mechanism.lower()}.connections.max.reauth.ms": str(SESSION_LIFETIME_MS)
                for listener in ("reauth", "reauth_tls")
                for mechanism in self.mechanisms
            }
        return found

    def _places_of_listeners(self, node_id: int) -> Properties:
        places = {each.name: f"{each.name}://{LOOPBACK}:{each.ports[node_id - 1]}" for each in self}
        plain = f"PLAINTEXT://{LOOPBACK}:{{port}}"
        listeners = ",".join([plain, *places.values()])
        found = {"listeners": listeners}
        kraft = self._release.mode == "kraft"
        if kraft:
            found["listeners"] = f"{listeners},CONTROLLER://{LOOPBACK}:{{controller_port}}"
            found["advertised.listeners"] = listeners
        if _has_names(self._release):
            protocols = {"PLAINTEXT": "PLAINTEXT", **({"CONTROLLER": "PLAINTEXT"} if kraft else {})}
            protocols |= {listener.name: listener.protocol for listener in self}
            found["listener.security.protocol.map"] = ",".join(f"{name}:{value}" for name, value in protocols.items())
        return found

    def _keys_of_listeners(self) -> Properties:
        found = _store("ssl.keystore", self._keys.broker) | _store("ssl.truststore", self._keys.truststore)
        found["ssl.key.password"] = PASSWORD_OF_KEYS
        if not _has_names(self._release):
            return found | {"ssl.client.auth": "requested"}
        for listener, store in (("expired", self._keys.expired), ("wronghost", self._keys.elsewhere)):
            found |= _store(f"listener.name.{listener}.ssl.keystore", store)
            found[f"listener.name.{listener}.ssl.key.password"] = PASSWORD_OF_KEYS
        return found | {"listener.name.mtls.ssl.client.auth": "required"}

    def _logins(self) -> Properties:
        logins = self._modules()
        return {
            f"listener.name.{listener.name.lower()}.{mechanism.lower()}.sasl.jaas.config": f"{logins[mechanism]};"
            for listener in self
            if listener.speaks_sasl
            for mechanism in self.mechanisms
        }

    def _modules(self) -> dict[str, str]:
        users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
        modules = {
            "PLAIN": f"{_MODULES}.plain.PlainLoginModule required {users}",
            "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule required",
            "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule required",
            "OAUTHBEARER": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required",
        }
        if self._kdc:
            options = f'useKeyTab=true storeKey=true keyTab="{self._kdc.service_keytab}" principal="{SERVICE}"'
            modules["GSSAPI"] = f"com.sun.security.auth.module.Krb5LoginModule required {options}"
        return {mechanism: module for mechanism, module in modules.items() if mechanism in self.mechanisms}

    def _jaas_file(self) -> Path:
        modules = dict.fromkeys(self._modules().values())
        path = self._folder / "jaas.conf"
        lines = "".join(f"  {module};\n" for module in modules)
        path.write_text(f"KafkaServer {{\n{lines}}};\n", encoding="utf-8")
        return path


def mechanisms(release: Release, *, kerberos: bool) -> tuple[str, ...]:
    """What a release has: GSSAPI from 0.9, PLAIN from 0.10, SCRAM from 0.10.2, OAUTHBEARER from 2.0."""
    since = {
        "PLAIN": (0, 10),
        "SCRAM-SHA-256": (0, 10, 2),
        "SCRAM-SHA-512": (0, 10, 2),
        "OAUTHBEARER": (2, 0),
    }
    found = [mechanism for mechanism, number in since.items() if release.number >= number]
    return (*found, "GSSAPI") if kerberos else tuple(found)


def _protocols(release: Release) -> dict[str, str]:
    listeners = {protocol: protocol for protocol in _BY_PROTOCOL}
    if _has_names(release):
        listeners |= {"MTLS": "SSL", "EXPIRED": "SSL", "WRONGHOST": "SSL", "PLAIN_ONLY": "SASL_PLAINTEXT"}
    if release.number >= (2, 2):
        listeners |= {"REAUTH": "SASL_PLAINTEXT", "REAUTH_TLS": "SASL_SSL"}
    return listeners


def _has_names(release: Release) -> bool:
    return release.number >= (1, 1)


def _has_delegation_tokens(release: Release) -> bool:
    return release.number >= ((3, 6) if release.mode == "kraft" else (1, 1))


def _store(prefix: str, path: Path) -> Properties:
    return {f"{prefix}.location": str(path), f"{prefix}.password": PASSWORD_OF_KEYS, f"{prefix}.type": "PKCS12"}
