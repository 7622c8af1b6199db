"""Streams and events of GPUs, as CuPy's. Everything can be imported where there is no GPU."""

from .array.gpus import (
    Device,
    device_count,
    get_default_memory_pool,
    get_default_pinned_memory_pool,
    is_available,
)
from .array.streams import (
    Event,
    ExternalStream,
    Stream,
    get_current_stream,
    get_elapsed_time,
)

__all__ = [
    "Device",
    "Event",
    "ExternalStream",
    "Stream",
    "device_count",
    "get_current_stream",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "get_elapsed_time",
    "is_available",
]
