"""Views through strides: `sliding_window_view` and `as_strided`."""

from ..array.stride_tricks import as_strided, sliding_window_view

__all__ = ["as_strided", "sliding_window_view"]
