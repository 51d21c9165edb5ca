"""Words that Admin knows, of whatever kind, are taken in any capitals and with any sign between their parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kwire import Admin
from kwire.errors import BrokerError, ConfigError
from kwire.testing import Broker
from tests.each import try_each

Call = Callable[[Admin, str], Any]

WORDS: dict[str, tuple[str, Call]] = {
    "config type": ("broker-logger", lambda a, word: a.describe_configs([(word, 1)])),
    "config type to list": ("topic", lambda a, word: a.list_config_resources([word])),
    "config operation": (
        "set",
        lambda a, word: a.incremental_alter_configs({("topic", "t"): {"retention.ms": (word, 1000)}}),
    ),
    "quota entity": ("client-id", lambda a, word: a.describe_client_quotas([(word, "c")])),
    "ACL resource": ("transactional_id", lambda a, word: a.describe_acls({"resource_type": word})),
    "ACL operation": ("describe_configs", lambda a, word: a.describe_acls({"operation": word})),
    "ACL permission": ("any", lambda a, word: a.describe_acls({"permission_type": word})),
    "group state": ("PreparingRebalance", lambda a, word: a.list_groups(states=[word])),
    "group type": ("Share", lambda a, word: a.list_groups(types=word)),
    "transaction state": ("CompleteAbort", lambda a, word: a.list_transactions(states=[word])),
    "isolation level": ("read_committed", lambda a, word: a.list_offsets({("t", 0): 0}, isolation_level=word)),
    "time": ("earliest", lambda a, word: a.list_offsets({("t", 0): word})),
    "end": ("latest", lambda a, word: a.delete_records({("t", 0): word})),
    "election": ("preferred", lambda a, word: a.elect_leaders(word, [("t", 0)])),
    "mechanism": ("SCRAM-SHA-256", lambda a, word: a.alter_user_scram_credentials({"bob": {word: "p"}})),
    "upgrade": (
        "safe-downgrade",
        lambda a, word: a.update_features({"group.version": (0, word)}, validate_only=True),
    ),
}


def spellings(word: str) -> list[str]:
    parts = re.sub("(?<=[a-z])(?=[A-Z])", "_", word).replace("-", "_")
    return [
        word,
        word.upper(),
        word.lower(),
        parts,
        parts.upper(),
        parts.replace("_", "-"),
        parts.replace("_", "").title(),
    ]


def test_each_spelling_of_a_word_means_the_same() -> None:
    broker = Broker(topics={"t": 1}, authorizer=True, allow_everyone_if_no_acl_found=True)
    with broker, Admin(broker.bootstrap_servers) as admin:

        def outcome(kind: str, spelling: str) -> Any:
            try:
                return WORDS[kind][1](admin, spelling)
            except BrokerError as error:
                return error.code

        def is_known(kind: str, spelling: str) -> None:
            assert outcome(kind, spelling) == outcome(kind, WORDS[kind][0])

        try_each(
            is_known,
            [{"kind": kind, "spelling": each} for kind, (word, _) in WORDS.items() for each in spellings(word)],
        )


def test_what_is_no_such_word_is_named() -> None:
    with Admin("127.0.0.1:1") as admin:
        for kind, (_, call) in WORDS.items():
            with pytest.raises(ConfigError) as caught:
                call(admin, "perhaps")
            if kind not in ("mechanism", "config operation"):  # a password may stand in the place of those
                assert "'perhaps'" in str(caught.value)
