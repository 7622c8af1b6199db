"""Where the user's code is."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

PACKAGE = __name__.partition(".")[0]
# Whether a module's globals are this package's, by their identity.
_ours: dict[int, bool] = {}


def user_line() -> tuple[CodeType, int] | None:
    """The instruction outside this package that is being run. Never a traceback object."""
    frame: FrameType | None = sys._getframe(4)  # three that lead here are ours
    while frame is not None:
        names = frame.f_globals
        ours = _ours.get(id(names))
        if ours is None:
            name = names.get("__name__", "")
            ours = _ours[id(names)] = name.partition(".")[0] == PACKAGE
        if not ours:
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None
