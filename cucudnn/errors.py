"""The few exceptions of our own."""

from __future__ import annotations

__all__ = ["CompileError", "DeviceError", "NotCompiledError"]

LINES_SHOWN = 3


class CompileError(RuntimeError):
    """A generated text that the compiler refused.

    Parameters
    ----------
    source : str
        The text that was compiled.
    log : str
        Everything that the compiler said about it.
    """

    def __init__(self, source: str, log: str) -> None:
        super().__init__(source, log)  # the arguments, so that it can be pickled
        self.source = source
        self.log = log

    def __str__(self) -> str:
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines
        shown = errors[:LINES_SHOWN] or ["the compiler said nothing"]
        if len(errors) > LINES_SHOWN:
            shown.append(f"... and {len(errors) - LINES_SHOWN} more; see .log and .source")
        return "the compiler refused a kernel:\n  " + "\n  ".join(shown)


class DeviceError(ValueError):
    """Operands on different devices, or a device that is not there."""


class NotCompiledError(RuntimeError):
    """A kernel would have to be compiled inside of `no_compile()`.

    Parameters
    ----------
    source : str
        The text of the kernel.
    difference : str
        What it has that the most similar text of this process has not, and the reverse.
    """

    def __init__(self, source: str, difference: str) -> None:
        super().__init__(source, difference)
        self.source = source
        self.difference = difference

    def __str__(self) -> str:
        if not self.difference:
            return "a kernel is not in the cache, and nothing may be compiled here"
        return (
            "a kernel is not in the cache, and nothing may be compiled here; "
            "from the most similar one it differs in\n" + self.difference
        )
