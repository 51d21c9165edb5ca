"""Functions that an option names, `package.module:function`: the name goes to the processes that call them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from kwire.errors import ConfigError


class NamedFunction(str):
    """A function by its name, looked up when it is called, in the process that calls it."""

    __slots__ = ()

    def __call__(self) -> Any:
        return find_function(self)()


def names_function(text: str) -> bool:
    """Whether a text is `package.module:function`; not of a job's program, which its workers do not run."""
    module, _, function = text.partition(":")
    return module != "__main__" and all(part.isidentifier() for part in (*module.split("."), *function.split(".")))


def find_function(name: str) -> Callable[..., Any]:
    """Imports it. ConfigError where that cannot be."""
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from error
    if not callable(found):
        raise ConfigError(f"{name} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]
