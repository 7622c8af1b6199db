"""Where the user's code is."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from ..accelerator import accelerated, tell

PACKAGE = __name__.partition(".")[0]
tell("package", PACKAGE)
# Whether a module's globals are this package's, by their identity.
_ours: dict[int, bool] = {}


@accelerated
def user_line() -> tuple[CodeType, int] | None:
    """The instruction outside this package that is being run. Never a traceback object."""
    try:
        frame: FrameType | None = sys._getframe(4)  # three that lead here are ours
    except ValueError:  # a method of ours that a thread begins with
        frame = sys._getframe()
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
