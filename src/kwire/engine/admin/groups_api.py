"""What the APIs about groups have in common: each group is asked about at its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from kwire._typing import TYPE_CHECKING, TypeVar, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import GROUP, CoordinatorLookup
from kwire.protocol import APIS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Result = TypeVar("Result")


class GroupsApi(AdminApi[str, Result]):
    """The keys are group ids."""

    tells_all = True

    def __init__(self, groups: Sequence[str]) -> None:
        self.what = f"{APIS[self.api_key].name} of {', '.join(groups)}"
        self.lookup = CoordinatorLookup(GROUP)
        self._groups = groups

    @override
    def split(self, core: Services) -> Sequence[str]:
        return self._groups
