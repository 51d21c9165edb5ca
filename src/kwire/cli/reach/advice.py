"""What is usually wrong where a step to a broker fails, and what to do about it. The faults themselves say the rest."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from ipaddress import ip_address

from kwire.engine.common.addresses import Address
from kwire.errors import AuthError

_REFUSED = "nothing listens there: is the broker up, and is the port that of a listener?"
_DROPPED = "packets are dropped on the way: a firewall, a security group, or an address of another network"
_SILENT = "it accepts connections and does not answer: it hangs or is overloaded, or a proxy has no broker behind it"
_NO_TLS = "set security.protocol to PLAINTEXT (or SASL_PLAINTEXT), or take the port of a listener with TLS"
_WITH_TLS = "set security.protocol to SSL (or SASL_SSL), or take the port of a listener without TLS"
_CERTIFICATES = (
    ("has expired", "renew the broker's certificate; no setting of a client makes an expired one good"),
    ("not valid before", "is the clock of this machine, or of the one that made the certificate, right?"),
    ("is not for", "connect by a name that the certificate has, or have it issued for this one as well"),
    ("not trusted here", "give the CA's certificate as ssl.ca.location (PEM) or ssl.truststore.location"),
    ("self-signed", "give that certificate as ssl.ca.location (PEM) or ssl.truststore.location"),
    ("answers in plaintext", None),
)
_PASSWORD = "user, password, or the mechanism that the user has a credential for (kwire users) is wrong"


@dataclass(frozen=True)
class Where:
    """What a step was about: `is_advertised` by the cluster's metadata, not given by the user."""

    address: Address
    is_advertised: bool
    uses_sasl: bool
    bootstrap: tuple[Address, ...] = ()


def advice(step: str, error: Exception, where: Where) -> str | None:
    """What to do about the failure of that step; None where its words say it."""
    if isinstance(error, TimeoutError) and error.errno is None and step not in ("resolve", "tcp"):
        return _SILENT
    found = _OF_STEPS[step](error, where)
    return f"{found}; {_advertised(where)}" if step in ("resolve", "tcp") and where.is_advertised else found


def _resolve(_error: Exception, where: Where) -> str:
    if where.is_advertised:
        return f"this machine does not know the name {where.address.host}"
    return "is the name spelled right, and does this machine's DNS (or /etc/hosts) know it?"


def _tcp(error: Exception, _where: Where) -> str:
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ECONNREFUSED:
        return _REFUSED
    if code in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return "there is no route from here to that address"
    return _DROPPED


def _advertised(where: Where) -> str:
    """The address comes from the broker: what to change is there."""
    host = where.address.host
    if _is_loopback(host) and not all(_is_loopback(each.host) for each in where.bootstrap):
        return f"the broker advertises {host}, which is this machine: set its advertised.listeners to its own address"
    return f"the broker advertises {where.address}: set its advertised.listeners to what is reachable from here"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _tls(error: Exception, _where: Where) -> str | None:
    text = str(error)
    for words, what in _CERTIFICATES:
        if words in text:
            return what
    return None if isinstance(error, AuthError) else f"if this listener has no TLS: {_NO_TLS}"


def _versions(error: Exception, _where: Where) -> str | None:
    if isinstance(error, AuthError):
        return None
    return f"if this listener has TLS: {_WITH_TLS}; else it is no Kafka broker, but maybe a ZooKeeper"


def _login(error: Exception, _where: Where) -> str | None:
    text = str(error).lower()
    if "does not offer" in text:
        return "set sasl.mechanism to one of those"
    if "illegal_sasl_state" in text:
        return "leave SASL_ out of security.protocol, or take the port of a listener with a login"
    return _PASSWORD


def _metadata(error: Exception, where: Where) -> str | None:
    if where.uses_sasl or not isinstance(error, OSError):
        return None
    return "if this listener wants a login: set security.protocol to SASL_PLAINTEXT or SASL_SSL, and sasl.mechanism"


_OF_STEPS = {
    "resolve": _resolve,
    "tcp": _tcp,
    "tls": _tls,
    "versions": _versions,
    "login": _login,
    "metadata": _metadata,
}
