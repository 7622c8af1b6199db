"""NumPy's arrays, lazily: operations are recorded, fused, and run as generated kernels."""

from . import array as array, nn as nn, random as random
from .array.creation import (
    arange as arange,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    full as full,
    full_like as full_like,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tril as tril,
    triu as triu,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .array.data_type import *
from .array.elementwise import *
from .array.functional import jit as jit, map as map, reduce as reduce, scan as scan
from .array.indexing import get as _get
from .array.interchange import from_dlpack as from_dlpack
from .array.linear_algebra import matmul as matmul
from .array.manipulation import *
from .array.ndarray import ndarray as ndarray
from .array.report import explain as explain, show_config as show_config
from .array.searching import *
from .array.statistical import *
from .array.utility import asnumpy as asnumpy, flush as flush, synchronize as synchronize
from .nn import conv2d as conv2d
from .settings import config as config
