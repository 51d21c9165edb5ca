"""--profile and `kwire config`: which settings hold, where the file is, and what errors and warnings say of it."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from kwire.cli.connecting import CONFIG_VARIABLE, PROFILE_VARIABLE, VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file, for the owner only, still empty."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "kwire" / "config.toml"
    path.parent.mkdir()
    path.touch(mode=0o600)
    return path


def test_a_profile_gives_settings(
    kwire: Kwire, broker: Broker, profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = broker.bootstrap_servers
    monkeypatch.delenv(VARIABLE)
    profiles.write_text(f'[here]\nbootstrap.servers = ["{here}"]\nrequest.timeout.ms = 5000\n[away]\n')
    assert kwire("topics", "--profile", "here").code == 0
    monkeypatch.setenv(PROFILE_VARIABLE, "here")
    assert kwire("topics").code == 0
    assert kwire("topics", "--profile", "away", "--timeout", "0.5").code == 1


@pytest.mark.parametrize("first", ["-b", "-X", "--config", "--profile", "profile variable", "brokers' variable"])
def test_which_goes_over_which(
    kwire: Kwire, broker: Broker, profiles: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: str
) -> None:
    here = broker.bootstrap_servers

    def servers(of: str) -> str:
        return here if of == first else NOWHERE

    config = tmp_path / "client.properties"
    config.write_text(f"bootstrap.servers={servers('--config')}\n")
    profiles.write_text(
        f'[stated]\nbootstrap.servers = "{servers("--profile")}"\n'
        f'[set]\nbootstrap.servers = "{servers("profile variable")}"\n'
        f'[usual]\nbootstrap.servers = "{NOWHERE}"\n'
    )
    monkeypatch.setenv(VARIABLE, servers("brokers' variable"))
    order = {
        "-b": ["-b", servers("-b")],
        "-X": ["-X", f"bootstrap.servers={servers('-X')}"],
        "--config": ["--config", str(config)],
        "--profile": ["--profile", "stated"],
    }
    lower = list(order)[list(order).index(first) :] if first in order else []
    if first != "brokers' variable":
        monkeypatch.setenv(PROFILE_VARIABLE, "set")
    assert kwire("topics", *(part for option in lower for part in order[option]), "--timeout", "20").code == 0


def test_the_default_profile_is_for_commands_that_name_no_brokers(
    kwire: Kwire, broker: Broker, profiles: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = broker.bootstrap_servers
    profiles.write_text(
        f'default-profile = "secure"\n[secure]\nbootstrap.servers = "{here}"\nsasl.mechanism = "NOSUCH"\n'
    )
    (tmp_path / "plain.properties").write_text(f"bootstrap.servers={here}\n")
    assert kwire("topics").code == 0, "the variable names the brokers"
    monkeypatch.delenv(VARIABLE)
    assert kwire("topics", "-b", here).code == 0
    assert kwire("topics", "-X", f"bootstrap.servers={here}").code == 0
    assert kwire("topics", "--config", str(tmp_path / "plain.properties")).code == 0
    outcome = kwire("topics")
    assert outcome.code == 2
    assert f"{profiles}, profile 'secure': sasl.mechanism='NOSUCH'" in outcome.err


def test_an_option_goes_over_the_variable_of_the_other(
    kwire: Kwire, broker: Broker, profiles: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profiles.write_text("[p]\n")
    config = tmp_path / "client.properties"
    config.touch()
    monkeypatch.setenv(CONFIG_VARIABLE, "/nowhere/x.properties")
    monkeypatch.setenv(PROFILE_VARIABLE, "unknown")
    assert kwire("topics", "--profile", "p").code == 0
    assert kwire("topics", "--config", str(config)).code == 0
    assert kwire("topics").code == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[prod]\n", "{path} has no profile 'prd' (did you mean 'prod'?); 'kwire config edit' opens or makes it"),
        ("a = " + "[" * 3000, "{path} is not TOML: "),
        ("[prd\n", "{path} is not TOML: Expected ']' at the end of a table declaration (at line 1, column 5)"),
        ("sasl.password = 'hunter2'\n", "{path}, profile 'sasl'"),
        ("x = 1\n", "{path}: 'x' stands in no profile; write [NAME] above its settings, or default-profile"),
        ("default-profile = 'a'\n[prd]\n", "{path}: default-profile has to be one of its profiles: prd"),
        ("[prd]\na.b = 1979-05-27\n", "{path}, profile 'prd': a.b: a string, a number, true or false, or"),
        ("[prd]\nreqest.timeout.ms = 1\n", "{path}, profile 'prd': unknown setting 'reqest.timeout.ms'; did you"),
        ("[prd]\nsasl.pasword = 'hunter2'\n", "{path}, profile 'prd': unknown setting 'sasl.pasword'"),
    ],
)
def test_errors_name_file_profile_and_key(
    kwire: Kwire, broker: Broker, profiles: Path, content: str, said: str
) -> None:
    profiles.write_text(content)
    outcome = kwire("topics", "--profile", "prd" if "sasl.password" not in content else "sasl")
    assert outcome.code in (1, 2)
    assert said.format(path=profiles) in outcome.err
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize(("mode", "told"), [(0o644, True), (0o600, False)])
def test_a_file_with_passwords_that_all_may_read(
    kwire: Kwire, broker: Broker, profiles: Path, mode: int, told: bool
) -> None:
    profiles.write_text("[p]\nsasl.password = 'hunter2'\n")
    profiles.chmod(mode)
    outcome = kwire("topics", "--profile", "p")
    assert "hunter2" not in outcome.err
    assert (f"{profiles} holds secrets and is readable by all users: chmod 600 {profiles}" in outcome.err) == told


def test_profiles_are_listed_and_shown_without_secrets(kwire: Kwire, profiles: Path) -> None:
    profiles.write_text(
        'default-profile = "a"\n[a]\nbootstrap.servers = ["h:1", "i:2"]\nsasl.username = "alice"\n'
        'sasl.password = "hunter2"\nenable.idempotence = true\n[b]\n'
    )
    first, second = map(json.loads, kwire("config", "--json").lines)
    assert first == {"profile": "a", "used": True, "brokers": "h:1,i:2", "security": None, "user": "alice"}
    assert (second["profile"], second["used"]) == ("b", False)
    shown = {row["setting"]: row["value"] for row in map(json.loads, kwire("config", "show", "--json").lines)}
    assert shown == {
        "bootstrap.servers": "h:1,i:2",
        "sasl.username": "alice",
        "sasl.password": "(hidden)",
        "enable.idempotence": "true",
    }
    assert kwire("config", "path").out.decode() == f"{profiles}\n"


def test_a_relative_xdg_config_home_is_passed_over(
    kwire: Kwire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kwire("config", "path").out.decode() == f"{tmp_path}/.config/kwire/config.toml\n"


def test_edit_makes_a_file_for_its_owner_and_checks_it_afterwards(
    kwire: Kwire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "kwire" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("VISUAL", "true")
    assert kwire("config", "edit").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert kwire("config", "show", "local").lines[1].split()[1:] == ["bootstrap.servers", "localhost:9092"]
    damage = f"{sys.executable} -c \"import sys; open(sys.argv[1], 'a').write('[x')\""
    monkeypatch.setenv("VISUAL", damage)
    outcome = kwire("config", "edit")
    assert (outcome.code, f"{path} is not TOML" in outcome.err) == (1, True)
    monkeypatch.setenv("VISUAL", "no-such-editor")
    assert "no-such-editor: No such file or directory; the variable EDITOR" in kwire("config", "edit").err


def test_who_takes_profiles_for_configs_is_told_where_those_are(kwire: Kwire) -> None:
    outcome = kwire("config", "set", "topics", "orders", "retention.ms=1")
    assert outcome.code == 2
    assert outcome.err.endswith(
        "is not one of list, show, path, edit; configs of topics, brokers and groups: kwire configs\n"
    )
