import pickle

import pytest

from cucudnn.errors import CompileError, DeviceError

LOG = "<stdin>: In function 'k':\n<stdin>:3:1: error: 'y' was not declared\n   3 | y\n"


def test_compile_error_tells_the_error_and_keeps_the_rest():
    error = CompileError("void k() { y; }", LOG)
    assert "'y' was not declared" in str(error)
    assert "In function" not in str(error)
    assert error.source == "void k() { y; }"
    assert error.log == LOG


def test_compile_error_is_short():
    text = str(CompileError("", "\n".join(f"error: {number}" for number in range(50))))
    assert "error: 2" in text
    assert "error: 3" not in text
    assert "47 more" in text


@pytest.mark.parametrize(("log", "shown"), [("", "said nothing"), ("killed", "killed")])
def test_compile_error_without_an_error_line(log, shown):
    assert shown in str(CompileError("", log))


def test_compile_error_can_be_pickled():
    again = pickle.loads(pickle.dumps(CompileError("text", LOG)))
    assert (again.source, again.log) == ("text", LOG)


def test_device_error_is_a_value_error():
    assert issubclass(DeviceError, ValueError)
