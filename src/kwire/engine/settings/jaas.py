"""Java's `sasl.jaas.config`: one login module with its options, and the settings that they stand for.

Layer 3, no I/O, pure. The text is read as Java's clients read it (`JaasConfig`, on a `StreamTokenizer`):

    package.NameOfLoginModule required username="alice" password="it's \\"quoted\\"";

Words are letters, digits, `.`, `-`, `_` and `$`; everything else stands in double or single quotes, where `\\` begins
the escapes `\\a \\b \\f \\n \\r \\t \\v`, octal ones up to `\\377`, or any other character as it is. A word may not
begin with a digit, `.` or `-`: Java takes that for a number. `/`, `//` and `/* */` begin comments. Errors name an
option and its position, and never show a value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kwire._typing import Any, NamedTuple
from kwire.engine.common.secret import HIDDEN, Secret
from kwire.engine.common.warning import warn_caller
from kwire.engine.settings.kinds import secret_text
from kwire.errors import ConfigError
from kwire.errors.wording import SettingName, Wording

_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = "01234567"
_NUMERIC = frozenset("0123456789.-")
_MARKS = frozenset("_$")
_LATIN_LETTERS = 0xA0
_REFUSED = Secret("refused")
_WORD, _TEXT, _MARK, _NUMBER, _END = range(5)


class JaasError(ValueError):
    """The text cannot be read; says where and why, and shows no value."""


class Token(NamedTuple):
    """A word, a quoted text, a mark such as `=`, a number, or the end; `position` counts characters from 0."""

    kind: int
    text: str
    position: int


class LoginModule(NamedTuple):
    """A login module's class name with its options, and where each option begins."""

    name: str
    options: dict[str, str]
    positions: dict[str, int]


def parse(text: str) -> LoginModule:
    """The one login module of the text; raises JaasError."""
    tokens = _tokens(text)
    module = _entry(next(tokens), tokens)
    after = next(tokens)
    if after.kind != _END:
        raise JaasError(f"unexpected text after the first login module, at position {after.position}")
    return module


def _entry(name: Token, tokens: Iterator[Token]) -> LoginModule:
    if name.kind not in (_WORD, _TEXT):
        raise JaasError(f"a login module's class name is needed at position {name.position}")
    flag = next(tokens)
    if flag.text.lower() not in _FLAGS:
        raise JaasError(f"'required' is needed after the login module, at position {flag.position}")
    options: dict[str, str] = {}
    positions: dict[str, int] = {}
    while (key := next(tokens)).text != ";" or key.kind != _MARK:
        if key.kind == _END:
            raise JaasError(f"a ';' is needed at the end, at position {key.position}")
        if key.kind not in (_WORD, _TEXT):
            raise JaasError(f"the name of an option is needed at position {key.position}")
        options[key.text] = _value(key, tokens)
        positions[key.text] = key.position
    return LoginModule(name.text, options, positions)


def _value(key: Token, tokens: Iterator[Token]) -> str:
    equals = next(tokens)
    where = _place(key.text, key.position)
    if equals.kind != _MARK or equals.text != "=":
        raise JaasError(f"{where}: a '=' is needed at position {equals.position}")
    value = next(tokens)
    if value.kind == _NUMBER:
        raise JaasError(f"{where}: quotes are needed around its value at position {value.position}")
    if value.kind not in (_WORD, _TEXT):
        raise JaasError(f"{where}: a value is needed at position {value.position}; put it in quotes")
    return value.text


def _place(option: str, position: int) -> str:
    """An option by its name, if a login module has it: any other may be a password that lacks its quotes."""
    return f"option {option!r} at position {position}" if _is_option(option) else f"an option at position {position}"


def _is_class(name: str) -> bool:
    parts = name.split(".")
    return all(map(str.isidentifier, parts)) and (len(parts) > 1 or name.endswith("LoginModule"))


def _is_option(name: str) -> bool:
    return name in _OPTIONS or name.startswith((_UNSECURED, "extension_"))


def _tokens(text: str) -> Iterator[Token]:
    """The tokens of the text, then ends without end."""
    position = 0
    while True:
        position = _after_space(text, position)
        if position >= len(text):
            yield Token(_END, "", position)
            continue
        begin = position
        letter = text[position]
        if letter in "\"'":
            content, position = _quoted(text, position)
            yield Token(_TEXT, content, begin)
        elif letter in _NUMERIC:
            position = _after_word(text, position)
            yield Token(_NUMBER, "", begin)
        elif _is_in_words(letter):
            position = _after_word(text, position)
            yield Token(_WORD, text[begin:position], begin)
        else:
            position += 1
            yield Token(_MARK, letter, begin)


def _is_in_words(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in _NUMERIC or letter in _MARKS
    return ord(letter) >= _LATIN_LETTERS


def _after_word(text: str, position: int) -> int:
    while position < len(text) and _is_in_words(text[position]):
        position += 1
    return position


def _after_space(text: str, position: int) -> int:
    """Past spaces and comments."""
    while position < len(text):
        if text[position] <= " ":
            position += 1
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            position = len(text) if end < 0 else end + 2
        elif text[position] == "/":
            ends = [end for mark in "\r\n" if (end := text.find(mark, position + 2)) >= 0]
            position = min(ends, default=len(text))
        else:
            break
    return position


def _quoted(text: str, begin: int) -> tuple[str, int]:
    """The text within quotes, and the position after them."""
    quote = text[begin]
    found: list[str] = []
    position = begin + 1
    while position < len(text) and text[position] not in "\r\n":
        letter = text[position]
        position += 1
        if letter == quote:
            return "".join(found), position
        if letter == "\\" and position < len(text):
            letter, position = _escaped(text, position)
        found.append(letter)
    raise JaasError(f"the quote at position {begin} is not closed on its line")


def _escaped(text: str, position: int) -> tuple[str, int]:
    """What stands after a backslash, and the position after it."""
    if text[position] not in _OCTAL:
        return _ESCAPES.get(text[position], text[position]), position + 1
    end = position + 1
    limit = position + (3 if text[position] <= "3" else 2)
    while end < min(limit, len(text)) and text[end] in _OCTAL:
        end += 1
    return chr(int(text[position:end], 8)), end


def without_jaas(given: Mapping[str, object], refusals: list[str]) -> Mapping[str, object]:
    """`given` with `sasl_jaas_config` replaced by what it stands for; adds to `refusals` what cannot be used."""
    if given["sasl_jaas_config"] is _REFUSED:
        return given
    rest = {name: value for name, value in given.items() if name != "sasl_jaas_config"}
    try:
        text = secret_text(given["sasl_jaas_config"]).reveal()
    except (TypeError, ValueError):
        return {**rest, "sasl_jaas_config": given["sasl_jaas_config"]}  # its own check refuses it
    try:
        meant = settings_of(parse(text))
    except (JaasError, ConfigError) as fault:
        refusals.append(Wording("{sasl_jaas_config}: {fault}", fault=str(fault)))
        return {**rest, "sasl_jaas_config": _REFUSED}
    for name, value in meant.items():
        if name in rest and rest[name] not in (None, "", value):
            if name != "sasl_mechanism":
                refusals.append(
                    Wording("{name} and {sasl_jaas_config} are given with different values", name=SettingName(name))
                )
        else:
            rest[name] = value
    return rest


def settings_of(module: LoginModule) -> dict[str, Any]:
    """The settings that a login module stands for."""
    name = module.name.rpartition(".")[2]
    read = _MODULES.get(name)
    if read is None:
        raise ConfigError(
            Wording(
                "login module {module!r} is not supported by kwire, these are: {known}{hint}",
                module=module.name if _is_class(module.name) else HIDDEN,
                known=", ".join(_MODULES),
                hint=_OF_MSK if "IAM" in name else "",
            )
        )
    options = dict(module.options)
    found = read(options)
    for option in _HARMLESS.get(name, ()):
        options.pop(option, None)
    if options:
        places = ", ".join(_place(option, module.positions[option]) for option in options)
        warn_caller(Wording("options of {sasl_jaas_config} without an effect in kwire: {places}", places=places))
    return found


def _moved(options: dict[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """Takes options out of `options`, under the settings' names; an empty one is none."""
    return {setting: value for option, setting in names.items() if (value := options.pop(option, ""))}


def _of_plain(options: dict[str, str]) -> dict[str, Any]:
    return {"sasl_mechanism": "PLAIN", **_moved(options, _PASSWORD)}


def _of_scram(options: dict[str, str]) -> dict[str, Any]:
    token = options.pop("tokenauth", "").lower() == "true"
    return {**_moved(options, _PASSWORD), **({"sasl_scram_token_auth": True} if token else {})}


def _of_oauth(options: dict[str, str]) -> dict[str, Any]:
    found = {"sasl_mechanism": "OAUTHBEARER", **_moved(options, _CLIENT)}
    extensions = _prefixed(options, "extension_") | _prefixed(options, _UNSECURED + "Extension_")
    if extensions:
        found["sasl_oauthbearer_extensions"] = extensions
    found.update(_unsecured(options))
    return found


def _unsecured(options: dict[str, str]) -> dict[str, Any]:
    """What the options `unsecuredLogin…` stand for: a token without a signature."""
    claims: dict[str, Any] = dict(_prefixed(options, _UNSECURED + "StringClaim_"))
    for name, text in _prefixed(options, _UNSECURED + "NumberClaim_").items():
        claims[name] = _number(f"{_UNSECURED}NumberClaim_{name}", text)
    for name, text in _prefixed(options, _UNSECURED + "ListClaim_").items():
        claims[name] = [item.strip() for item in text[1:].split(text[0])] if text else []
    found: dict[str, Any] = {"sasl_oauthbearer_unsecured_claims": claims} if claims else {}
    seconds = options.pop(_UNSECURED + "LifetimeSeconds", "")
    if seconds:
        found["sasl_oauthbearer_unsecured_lifetime_ms"] = int(_number(_UNSECURED + "LifetimeSeconds", seconds) * 1000)
    return found


def _number(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"option {option!r} is not a number")
    return int(number) if number.is_integer() else number


def _prefixed(options: dict[str, str], prefix: str) -> dict[str, str]:
    """Takes the options with this prefix out of `options`, without it."""
    names = [name for name in options if name.startswith(prefix) and name != prefix]
    return {name.removeprefix(prefix): options.pop(name) for name in names}


def _of_kerberos(options: dict[str, str]) -> dict[str, Any]:
    found = {"sasl_mechanism": "GSSAPI", **_moved(options, _TICKET)}
    if options.pop("useKeyTab", "true").lower() != "true":
        found.pop("sasl_kerberos_keytab", None)
    return found


_UNSECURED = "unsecuredLogin"
_PASSWORD = {"username": "sasl_username", "password": "sasl_password"}
_CLIENT = {
    "clientId": "sasl_oauthbearer_client_id",
    "clientSecret": "sasl_oauthbearer_client_secret",
    "scope": "sasl_oauthbearer_scope",
}
_TICKET = {
    "principal": "sasl_kerberos_principal",
    "keyTab": "sasl_kerberos_keytab",
    "serviceName": "sasl_kerberos_service_name",
}
_MODULES = {
    "PlainLoginModule": _of_plain,
    "ScramLoginModule": _of_scram,
    "OAuthBearerLoginModule": _of_oauth,
    "Krb5LoginModule": _of_kerberos,
}
_HARMLESS = {
    "PlainLoginModule": ("serviceName",),
    "ScramLoginModule": ("serviceName",),
    "Krb5LoginModule": (
        "client",
        "debug",
        "doNotPrompt",
        "isInitiator",
        "refreshKrb5Config",
        "renewTGT",
        "storeKey",
        "useTicketCache",
    ),
}
_OF_MSK = Wording("; for AWS MSK give {sasl_mechanism}='OAUTHBEARER' and its signer in {sasl_oauth_token}")
_OPTIONS = frozenset(
    {
        *_PASSWORD,
        *_CLIENT,
        *_TICKET,
        "tokenauth",
        "useKeyTab",
        *(name for names in _HARMLESS.values() for name in names),
    }
)
