"""GSSAPI: Kerberos 5, by the package `gssapi` and the machine's own Kerberos libraries.

    client   the tokens of gss_init_sec_context, in turn with the broker's, until the context stands
    broker   wrapped: bit mask of security layers (1 byte), greatest size of a wrapped message (3 bytes)
    client   wrapped: 1 (no security layer), 0 0 0, the principal

Only "no security layer" is spoken: what protects the connection is TLS. Steps may ask a KDC, so they run apart. Nothing
answers the last token where tokens travel bare.

Layer 3, no I/O of its own. Source: RFC 4752. The principal stands in the last token because Java's client says it.
"""

from __future__ import annotations

from importlib import import_module

from kwire._typing import Any
from kwire.engine.connections.flows import Apart, Flow
from kwire.engine.connections.sasl.exchange import Say, quoted
from kwire.errors import AuthError, ConnectError

_NO_LAYER = 1
_OFFER_SIZE = 4
_MAX_ROUNDS = 16
_STEP = "Kerberos"
_UNREACHABLE = frozenset({-1765328228 & 0xFFFFFFFF, -1765328229 & 0xFFFFFFFF})  # KRB5_KDC_UNREACH, _REALM_CANT_RESOLVE


def gssapi(say: Say, service: str, host: str, principal: str | None = None, keytab: str | None = None) -> Flow[None]:
    """Says the tokens of Kerberos for `service`@`host`."""
    context = yield from _apart(lambda: _context(service, host, principal, keytab))
    answer: bytes | None = None
    for _ in range(_MAX_ROUNDS):
        token = yield from _apart(lambda heard=answer: context.step(heard))
        complete = context.complete
        answer = yield from say(token or b"")
        if complete:
            break
    else:
        raise AuthError(reason=f"Kerberos did not finish within {_MAX_ROUNDS} tokens")
    choice = yield from _apart(lambda: _choice(context, answer))
    yield from say(choice, answered=False)


def _apart(function: Any) -> Flow[Any]:
    try:
        value, _ = yield Apart(function, _STEP)
    except AuthError:
        raise
    except ImportError as error:
        raise AuthError(
            step=_STEP, reason=f'GSSAPI needs the package gssapi: pip install "kwire[gssapi]" ({error})'
        ) from error
    except Exception as error:
        words = quoted(str(error)) or type(error).__name__
        if getattr(error, "min_code", 0) & 0xFFFFFFFF in _UNREACHABLE:
            raise ConnectError(f"{_STEP}: {words}") from error
        raise AuthError(step=_STEP, reason=words) from error
    return value


def _context(service: str, host: str, principal: str | None, keytab: str | None) -> Any:
    library: Any = import_module("gssapi")
    target = library.Name(f"{service}@{host}", library.NameType.hostbased_service)
    flags = library.RequirementFlag
    return library.SecurityContext(
        name=target,
        creds=_credentials(library, principal, keytab),
        flags=flags.mutual_authentication | flags.out_of_sequence_detection | flags.integrity,
        mech=library.MechType.kerberos,
        usage="initiate",
    )


def _credentials(library: Any, principal: str | None, keytab: str | None) -> Any:
    """Those of the principal and the key table; None for those of the environment."""
    if principal is None and keytab is None:
        return None
    name = None if principal is None else library.Name(principal, library.NameType.kerberos_principal)
    store = None if keytab is None else {"client_keytab": keytab}
    return library.Credentials(name=name, usage="initiate", store=store)


def _choice(context: Any, offered: bytes) -> bytes:
    """The answer to the security layers that the broker offers."""
    offer: bytes = context.unwrap(offered).message
    if len(offer) != _OFFER_SIZE:
        raise AuthError(step=_STEP, reason=f"the broker offers security layers in {len(offer)} bytes instead of 4")
    if not offer[0] & _NO_LAYER:
        raise AuthError(step=_STEP, reason="the broker demands a security layer of Kerberos, which kwire does not have")
    answer = bytes((_NO_LAYER, 0, 0, 0)) + str(context.initiator_name).encode()
    token: bytes = context.wrap(answer, False).message
    return token
