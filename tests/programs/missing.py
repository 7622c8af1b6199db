"""Programs that do not run yet, and what they lack. A line goes when its program works."""

MISSING: dict[str, str] = {}
