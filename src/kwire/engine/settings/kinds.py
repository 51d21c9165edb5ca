"""One setting: its type, default and limits, and how a given value is checked.

Layer 3, no I/O. The tables of settings themselves are in `clients.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform
from kwire.engine.common.secret import HIDDEN, Secret
from kwire.engine.common.warning import warn_caller
from kwire.engine.settings.foreign import key_of, verdict
from kwire.errors import ConfigError
from kwire.errors.wording import SettingName, Wording

if TYPE_CHECKING:
    from typing import ClassVar
else:
    from kwire._typing import ClassVar

_TRUE = frozenset({"true", "1", "yes", "on"})
_SIMILAR = 0.7
_FALSE = frozenset({"false", "0", "no", "off"})


class Setting:
    """One row of a table of settings; `keyword` is filled in when the table is made.

    `convert` makes the value, or raises TypeError or ValueError; `wanted` says what it takes. `given_as` is the type of
    what it takes, as `options.py` shows it to type checkers, where that is more than `kind` or one of `choices`.
    `instead` is for a value that cannot be pickled and is not compared: what to give where that is needed.
    """

    __slots__ = (
        "aliases",
        "choices",
        "convert",
        "default",
        "doc",
        "given_as",
        "instead",
        "keyword",
        "kind",
        "maximum",
        "minimum",
        "optional",
        "secret",
        "synonyms",
        "wanted",
    )

    def __init__(
        self,
        kind: type,
        default: object,
        doc: str,
        *,
        aliases: tuple[str, ...] = (),
        minimum: float | None = None,
        maximum: float | None = None,
        choices: tuple[object, ...] = (),
        synonyms: Mapping[object, object] | None = None,
        optional: bool = False,
        secret: bool = False,
        convert: Callable[[Any], Any] | None = None,
        wanted: str = "",
        given_as: str = "",
        instead: str = "",
    ) -> None:
        self.kind: type = kind
        self.default: object = default
        self.doc: str = doc
        self.aliases: tuple[str, ...] = aliases
        self.minimum: float | None = minimum
        self.maximum: float | None = maximum
        self.choices: tuple[object, ...] = choices
        self.synonyms: Mapping[object, object] = synonyms or {}
        self.optional: bool = optional
        self.secret: bool = secret
        self.convert: Callable[[Any], Any] | None = convert
        self.wanted: str = wanted
        self.given_as: str = given_as
        self.instead: str = instead
        self.keyword: str = ""

    @property
    def dotted(self) -> str:
        """The name in a properties file: Java's."""
        return self.keyword.replace("_", ".")

    def check(self, value: object) -> Any:
        """`value` as this setting's type; raises ConfigError that names the setting and what would work."""
        if self.synonyms and (value is None or isinstance(value, str | bool)):
            value = self.synonyms.get(value.strip().lower() if isinstance(value, str) else value, value)
        if value is None or (self.optional and value == ""):
            if self.optional:
                return None
            raise self._refusal(None)
        made = self._converted(value)
        if self.choices and made not in self.choices:
            raise self._refusal(value)
        if (self.minimum is not None and made < self.minimum) or (self.maximum is not None and made > self.maximum):
            raise ConfigError(
                Wording(
                    "{setting}={value!r} is out of range: expected {wanted}",
                    setting=SettingName(self.keyword),
                    value=value,
                    wanted=self._wanted(),
                )
            )
        return made

    def _converted(self, value: Any) -> Any:
        if self.convert is not None:
            try:
                return self.convert(value)
            except (TypeError, ValueError):
                raise self._refusal(value) from None
        if self.kind is bool:
            text = str(value).strip().lower()
            if text in _TRUE or text in _FALSE:
                return text in _TRUE
        elif self.kind is int:
            try:
                whole = int(value)
            except (TypeError, ValueError, OverflowError):
                pass
            else:
                if not isinstance(value, bool) and (isinstance(value, str) or whole == value):
                    return whole
        elif self.kind is str:
            if isinstance(value, str):
                text = value.strip()
                folded = {str(choice).lower(): choice for choice in self.choices}
                return folded.get(text.lower(), text)
        else:
            return value
        raise self._refusal(value)

    def shown(self, value: object) -> str:
        """The value as text for people: hidden where it is a secret."""
        return f"'{HIDDEN}'" if self.secret and value is not None else repr(value)

    def _refusal(self, value: object) -> ConfigError:
        return ConfigError(
            Wording(
                "{setting}={given}: expected {wanted}",
                setting=SettingName(self.keyword),
                given=self.shown(value),
                wanted=self._wanted(),
            )
        )

    def _wanted(self) -> str:
        if self.wanted:
            return self.wanted
        if self.choices:
            return "one of " + ", ".join(repr(choice) for choice in self.choices)
        if self.kind is object:
            return f"a value ({self.doc.rstrip('.')})"
        words = {bool: "True or False", int: "a whole number", str: "a string"}.get(self.kind, self.kind.__name__)
        if self.minimum is not None and self.maximum is not None:
            words += f" from {self.minimum} to {self.maximum}"
        elif self.minimum is not None:
            words += f" of at least {self.minimum}"
        return words + (" or None" if self.optional else "")


T = TypeVar("T")


def setting(kind: type[T], default: T, doc: str, **limits: Any) -> Any:
    """A setting that always has a value."""
    return Setting(kind, default, doc, **limits)


def optional_setting(kind: type[T], doc: str, **limits: Any) -> Any:
    """A setting that is None unless it is given."""
    return Setting(kind, None, doc, optional=True, **limits)


def secret_setting(doc: str, **limits: Any) -> Any:
    """A text that is never shown; None unless it is given."""
    limits = {"convert": secret_text, "wanted": "a string that can be encoded as UTF-8, or None", **limits}
    return Setting(str, None, doc, optional=True, secret=True, **limits)


def verbatim_text(value: object) -> str:
    """A string as it is, with the spaces around it; ValueError if it has no UTF-8, as os.environ may make one."""
    if not isinstance(value, str):
        raise TypeError
    value.encode()
    return value


def secret_text(value: object) -> Secret:
    """A string as it is, which nothing shows."""
    return Secret(value.reveal() if isinstance(value, Secret) else verbatim_text(value))


@dataclass_transform(kw_only_default=True, field_specifiers=(setting, optional_setting, secret_setting))
class Settings:
    """The base of a table: each class attribute made by `setting` is a keyword; instances hold the checked values."""

    table: ClassVar[dict[str, Setting]] = {}

    def __init_subclass__(cls) -> None:
        table: dict[str, Setting] = {}
        for base in reversed(cls.__mro__):
            for keyword, row in list(base.__dict__.items()):
                if isinstance(row, Setting):
                    row.keyword = keyword
                    table[keyword] = row
        cls.table = table

    def __init__(self, **given: object) -> None:
        self._fill(given, [])

    @classmethod
    def made_of(cls, given: Mapping[str, object], refusals: Iterable[str]) -> Self:
        """Settings of these keywords; raises one ConfigError with these refusals and all others."""
        made = cls.__new__(cls)
        made._fill(given, list(refusals))
        return made

    def _fill(self, given: Mapping[str, object], refusals: list[str]) -> None:
        given = self.resolved(self.expanded(given, refusals), refusals)
        chosen = set()
        ignored = [name for name in given if name not in self.table and self._is_ignored(name, given[name], refusals)]
        for keyword, row in self.table.items():
            value = row.default
            if keyword in given:
                try:
                    value = row.check(given[keyword])
                except ConfigError as refusal:
                    refusals.append(str(refusal))
                    chosen.add(keyword)
            if value != row.default:
                chosen.add(keyword)
            object.__setattr__(self, keyword, value)
        refusals += self.conflicts(chosen)
        if refusals:
            raise ConfigError.of(refusals)
        if ignored:
            warn_caller(f"settings without an effect in kwire: {', '.join(ignored)}")

    def _is_ignored(self, name: str, value: object, refusals: list[str]) -> bool:
        """Judges a name that no row has: True for one to warn of; what is refused is added to `refusals`."""
        own = self._own_name(name)
        judged = None if own else verdict(name, value)
        if judged is None:
            refusals.append(_own_spelling(name, own) if own else self.unknown(name))
            return False
        if judged.refusal is not None:
            refusals.append(Wording("{name!r}: {why}", name=SettingName(name), why=judged.refusal))
        return judged.warn

    def _own_name(self, name: str) -> str | None:
        """The keyword of a row that `name` is another spelling of, or that has such an alias."""
        key = key_of(name)
        rows = self.table.values()
        return next((row.keyword for row in rows if key in map(key_of, (row.keyword, *row.aliases))), None)

    def unknown(self, name: str) -> str:
        """The text about a name that no client has."""
        return unknown_setting(name, self.table)

    @classmethod
    def expanded(cls, given: Mapping[str, object], refusals: list[str]) -> Mapping[str, object]:
        """`given` with settings that stand for others replaced by those; a table overrides this."""
        return given

    @classmethod
    def resolved(cls, given: Mapping[str, object], refusals: list[str]) -> Mapping[str, object]:
        """All that was given, without names whose meaning depends on the rest; a table overrides this."""
        return given

    def conflicts(self, chosen: Collection[str]) -> list[str]:
        """What is wrong with settings together: those that forbid or need each other; a table overrides this.

        `chosen` has the keywords that were given and differ from the default, those with a refused value among them.
        """
        return []

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings do not change: make new ones to alter {name}")

    def __eq__(self, other: object) -> bool:
        compared = (keyword for keyword, row in self.table.items() if not row.instead)
        return type(other) is type(self) and all(getattr(other, name) == getattr(self, name) for name in compared)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.given()
        for keyword in given:
            if self.table[keyword].instead:
                raise ConfigError(
                    Wording(
                        "{setting} cannot be pickled: {instead}",
                        setting=SettingName(keyword),
                        instead=self.table[keyword].instead,
                    )
                )
        return _rebuild, (type(self), given)

    def given(self) -> dict[str, Any]:
        """The keywords whose values are not the defaults: what it takes to make the same settings again."""
        return {key: value for key, value in self.__dict__.items() if value != self.table[key].default}

    def __repr__(self) -> str:
        given = (f"{keyword}={self.table[keyword].shown(value)}" for keyword, value in self.given().items())
        return f"{type(self).__name__}({', '.join(given)})"


def _rebuild(table: type[Settings], given: dict[str, Any]) -> Settings:
    return table(**given)


def unknown_setting(name: str, table: Mapping[str, Setting]) -> str:
    """Returns the text of the error for a name that no row has; it suggests the nearest one, in the same spelling."""
    from difflib import get_close_matches

    known = [other for row in table.values() for other in (row.dotted, *row.aliases)] if "." in name else list(table)
    near = get_close_matches(name, known, n=1, cutoff=_SIMILAR)
    if not near:
        return Wording("unknown setting {name!r}", name=SettingName(name))
    return Wording(
        "unknown setting {name!r}; did you mean {near!r}?", name=SettingName(name), near=SettingName(near[0])
    )


def _own_spelling(name: str, own: str) -> str:
    return Wording("unknown setting {name!r}; it is {own!r} here", name=SettingName(name), own=SettingName(own))
