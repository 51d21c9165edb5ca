"""Regular expressions that Python cannot read, each for another reason."""

from __future__ import annotations

UNREADABLE = ("*", "(", "a{99999999999}", "(" * 5000 + ")" * 5000)
