"""Words that arguments are made of, such as 'earliest' and 'broker-logger', in any spelling. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable


def word_in(given: object, words: Iterable[str]) -> str | None:
    """The one of these words that is meant, None for something else: neither capitals matter nor what is between the
    parts of a word, as in 'broker-logger', 'BROKER_LOGGER' and 'brokerLogger'."""
    plain = _plain(given) if isinstance(given, str) else None
    return next((word for word in words if _plain(word) == plain), None)


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
