"""Neural-network functions. Parameters follow their input's dtype and device."""

from .array.convolution import conv2d as conv2d

__all__ = ["conv2d"]
