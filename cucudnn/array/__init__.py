"""What the user may say: one module per chapter of the Array API standard.

This package is NumPy's function `array` too, so the module is callable: rebinding the name to a
function would break `import cucudnn.array.apply as m`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .creation import array as _array

if TYPE_CHECKING:  # at run time the name must stay the submodule's
    from .ndarray import ndarray


class _CallableModule(ModuleType):
    def __call__(self, obj: Any, dtype: Any = None, **kwargs: Any) -> ndarray:
        return _array(obj, dtype, **kwargs)


_CallableModule.__call__.__doc__ = _array.__doc__
sys.modules[__name__].__class__ = _CallableModule
