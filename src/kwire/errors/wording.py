"""Texts of errors that name settings, each as whoever shows it spells it: a keyword, a property, an option.

Imports nothing but types. A client names a setting by its keyword. A shell or a job that gave it under another name
asks for the text with its own names, and never looks for keywords in it: a topic or a file may be called like one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kwire._typing import Any, NamedTuple, Self, override

NameOf = Callable[[str], str]
"""The name that a reader knows for a setting's keyword, or for a name that was given and that no setting has."""


class SettingName(str):
    """A value of a Wording that names a setting."""

    __slots__ = ()


class Wording(str):
    """A text made as by `str.format`: a field is one of the values, or else the keyword of a setting.

        Wording("{acks}={given} is not for topic {topic}", given=2, topic="acks")

    As a str it has the keywords. str() keeps what it is, of an error that it is the text of, too; a format makes plain
    text of it, so it becomes part of another text as a value of its Wording.
    """

    _template: str
    _values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        made = super().__new__(cls, template.format_map(_Fields(values, str)))
        made._template, made._values = template, values
        return made

    @override
    def __str__(self) -> str:
        return self

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return _wording, (self._template, self._values)

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of settings in it, in their order."""
        named: list[str] = []

        def note(name: str) -> str:
            named.append(str(name))
            return name

        self.spelled(note)
        return tuple(named)

    def changed(self, change: Callable[[str], str]) -> Wording:
        """The same words around other values: those that are texts, as `change` has them."""
        return Wording(self._template, **{field: _changed(value, change) for field, value in self._values.items()})

    def spelled(self, name_of: NameOf) -> str:
        """The text with these names of settings."""
        return self._template.format_map(_Fields(self._values, name_of))


class _Fields:
    """What stands in the fields of a template."""

    def __init__(self, values: dict[str, object], name_of: NameOf) -> None:
        self._values = values
        self._name_of = name_of

    def __getitem__(self, field: str) -> object:
        value = self._values.get(field, self)
        if value is self:
            return self._name_of(field)
        if isinstance(value, SettingName):
            return self._name_of(value)
        return spelled(value, self._name_of) if isinstance(value, Wording) else value


def _changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, Wording):
        return value.changed(change)
    return change(value) if isinstance(value, str) and not isinstance(value, SettingName) else value


def _wording(template: str, values: dict[str, object]) -> Wording:
    return Wording(template, **values)


def spelled(text: str, name_of: NameOf) -> str:
    """The text with these names of settings, if it names any."""
    return text.spelled(name_of) if isinstance(text, Wording) else text


def joined(separator: str, texts: Iterable[str]) -> Wording:
    """As `separator.join`, and the names of settings are kept."""
    values = {f"text_{place}": text for place, text in enumerate(texts)}
    return Wording(separator.join(f"{{{field}}}" for field in values), **values)


class Problem(NamedTuple):
    """What a ConfigError is about: a setting, by its keyword or by a name that none has, or None; and what is wrong."""

    setting: str | None
    text: str

    @classmethod
    def of(cls, text: str) -> Problem:
        """The problem that a text describes: with the setting that it names first."""
        return cls(next(iter(text.settings), None) if isinstance(text, Wording) else None, text)


class Cause(Wording):
    """Why an address could not be reached: a text, and as `kind` what a program may decide on.

    "refused" nothing listens there, "unresolved" the name has no address, "unreachable" no way leads there, "timeout"
    no answer, "auth" one side refused the other, or "other".
    """

    kind: str

    def __new__(cls, text: str, kind: str = "other") -> Self:
        made = super().__new__(cls, "{text}", text=text)
        made.kind = kind
        return made

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return Cause, (self._values["text"], self.kind)

    @override
    def spelled(self, name_of: NameOf) -> Cause:
        """The same cause in these names of settings."""
        return Cause(super().spelled(name_of), self.kind)

    def followed_by(self, hint: str) -> Cause:
        """The same cause, and what may have led to it."""
        return Cause(joined("", (self, hint)), self.kind)
