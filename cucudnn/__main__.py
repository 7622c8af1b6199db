"""python -m cucudnn: print the configuration; with `demo`, run the README's example."""

from __future__ import annotations

import sys

from .array.report import demo, show_config


def main(arguments: list[str]) -> int:
    """The command line: returns the exit status."""
    if not arguments:
        show_config()
        return 0
    if arguments == ["demo"]:
        return demo()
    print("usage: python -m cucudnn [demo]", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
