"""What NumPy has in `numpy.lib`: `stride_tricks`."""

from . import stride_tricks

__all__ = ["stride_tricks"]
