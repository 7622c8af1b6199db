"""Neural-network functions: arrays in, arrays out. Names and parameters are torch's.

They follow x's dtype and device; parameters are brought there from the host. What is made of other
operations is recorded, so it runs when values are read, and fuses.
"""

from .array.activation import *  # noqa: F403
from .array.convolution import *  # noqa: F403
from .array.convolution_gradients import *  # noqa: F403
from .array.normalization import *  # noqa: F403
from .array.pooling import *  # noqa: F403
from .array.windows import *  # noqa: F403
from .array.layers import *  # noqa: F403
from .array.attention import *  # noqa: F403
from .array.loss import *  # noqa: F403
from .array.cross_entropy import *  # noqa: F403
