"""NumPy's names that are not here, each with the reason: what an AttributeError says."""

from __future__ import annotations

_DATES = "dates are not supported; use .view('int64')"
_TEXT = "text is not supported; encode it as integers"
_OBJECTS = "object arrays cannot be computed on; convert to a numeric dtype"
_RECORDS = "structured data is not supported; pass each field as an array of its own"
_LONG = "long double is not supported; use float64 or complex128"
_MATRIX = "the class matrix is not supported; use arrays of two dimensions"
_NUMPY = "it is about NumPy itself, not about arrays; take NumPy's"
_DEPRECATED = "it is deprecated in NumPy"

# What is about types of data that are not here, or no array; nobody would count it as missing.
_FOREIGN = {
    _DATES: (
        "busday_count", "busday_offset", "busdaycalendar", "datetime64", "datetime_as_string",
        "datetime_data", "is_busday", "isnat", "timedelta64",
    ),
    _TEXT: ("bytes_", "char", "character", "str_", "strings"),
    _OBJECTS: ("frompyfunc", "object_", "sctypeDict"),
    _RECORDS: ("flexible", "fromregex", "rec", "recarray", "record", "void"),
    _LONG: ("clongdouble", "complex256", "float128", "longdouble"),
    _MATRIX: ("asmatrix", "bmat", "matrix"),
    _NUMPY: (
        "core", "ctypeslib", "dtypes", "exceptions", "f2py", "get_include", "info", "show_config",
        "show_runtime", "test", "typing",
    ),
    _DEPRECATED: ("row_stack",),
}  # fmt: skip
_MISSING = {
    "masked arrays are not supported; use NaNs and nansum, …, or where=": ("ma",),
    "its classes compute on the host; polyval, polyfit, … are here": ("polynomial",),
    "memory is the library's own; asarray reads a numpy.memmap": ("memmap",),
    "our functions of elements are plain functions, with the attributes of ufuncs": ("ufunc",),
    "which of a list of types exist is NumPy's; see __array_namespace_info__().dtypes()": (
        "ScalarType",
    ),
}  # fmt: skip
FOREIGN = {name: reason for reason, names in _FOREIGN.items() for name in names}
NAMES = FOREIGN | {name: reason for reason, names in _MISSING.items() for name in names}
# Attributes of NumPy's class that ours does not have.
METHODS = {"ctypes": "the memory may not exist yet; use numpy.asarray(x).ctypes"}
# Attributes of NumPy's random.Generator that ours does not have.
GENERATOR = {"bit_generator": "a generator is a seed and a counter; default_rng makes another one"}

__all__ = ["FOREIGN", "GENERATOR", "METHODS", "NAMES"]
