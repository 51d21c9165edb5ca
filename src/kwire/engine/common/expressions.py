"""Regular expressions that somebody else has written. Layer 3, no I/O."""

from __future__ import annotations

import re

from kwire._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import AnyStr


def compiled(expression: AnyStr) -> re.Pattern[AnyStr]:
    """The expression; ValueError, which says why, where Python cannot read it, be it too deep or count too far."""
    try:
        return re.compile(expression)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (re.error, OverflowError) as error:
        raise ValueError(str(error)) from None
