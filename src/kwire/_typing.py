"""The names of `typing` that the package's code runs into when it is imported, without importing `typing`.

Layer 0: imports nothing of kwire. `typing` brings `re`, `enum` and `contextlib` along and takes longer to import than
`kwire.records` does; it is needed for annotations above all, which are not evaluated. Type checkers see typing itself;
at run time its names are stand-ins that do as little as the package needs: `NamedTuple` makes named tuples, the others
stand in annotations or return their argument. `ClassVar` is the exception: pyright knows it by its name in `typing`
only, so modules import that one under TYPE_CHECKING and the stand-in otherwise.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import Generic as Generic
    from typing import NamedTuple as NamedTuple
    from typing import Never as Never
    from typing import Self as Self
    from typing import TypeVar as TypeVar
    from typing import Unpack as Unpack
    from typing import cast as cast
    from typing import dataclass_transform as dataclass_transform
    from typing import overload as overload

    from typing_extensions import override as override
else:
    Any = Never = Self = Unpack = object
    _NOT_COPIED = frozenset({"__annotations__", "__module__", "__orig_bases__", "__qualname__"})

    class ClassVar:
        def __class_getitem__(cls, kind):
            return kind

    class Generic:
        def __class_getitem__(cls, kind):
            return cls

    def TypeVar(name, **_):  # noqa: N802
        return object

    def cast(_, value):
        return value

    def override(method):
        return method

    def overload(_):
        """The implementation, which follows under the same name, takes this one's place."""

    def dataclass_transform(**_):
        return lambda cls: cls

    class _NamedTupleMeta(type):
        def __new__(mcs, name, bases, namespace):
            if not bases:
                return super().__new__(mcs, name, bases, namespace)
            from collections import namedtuple

            names = tuple(namespace.get("__annotations__", ()))
            defaults = [namespace.pop(field) for field in names if field in namespace]
            made = namedtuple(name, names, defaults=defaults, module=namespace["__module__"])
            made.__qualname__ = namespace["__qualname__"]
            made.__annotations__ = namespace.get("__annotations__", {})
            for attribute, value in namespace.items():
                if attribute not in _NOT_COPIED:
                    setattr(made, attribute, value)
            return made

    class NamedTuple(metaclass=_NamedTupleMeta):
        """`class Point(NamedTuple): x: int; y: int = 0`, as in typing."""
