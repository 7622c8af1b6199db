"""An example of each of NumPy's functions, on each device, and the page that counts them."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import cucudnn as xp
from cucudnn.array import absent

ROOT = Path(__file__).resolve().parents[2]
coverage = runpy.run_path(str(ROOT / "docs/make_coverage.py"))
DATA, SECTIONS = coverage["DATA"], coverage["SECTIONS"]
EXAMPLES = [(section, name) for section in SECTIONS for name in DATA[section]]
PAGE = (ROOT / "docs/numpy.md").read_text()
OTHER_NUMPY = f"NumPy {'.'.join(np.__version__.split('.')[:2])}," not in PAGE


def has(owner, name):
    """Whether NumPy has a name, dotted or not."""
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner is not None


@pytest.mark.skipif(OTHER_NUMPY, reason="the page is about another version of NumPy")
def test_the_page_is_what_the_script_prints():
    assert coverage["page"]() == PAGE, "run `python docs/make_coverage.py > docs/numpy.md`"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a NumPy that is newer than the page
@pytest.mark.parametrize(("section", "name"), EXAMPLES, ids=lambda x: x)
def test_the_example_gives_what_numpy_gives(device, section, name):
    if not has(SECTIONS[section][1], name):
        pytest.skip(f"NumPy {np.__version__} has no {name}")
    try:
        assert coverage["compare"](section, name) == ""
    except NotImplementedError as error:
        if device == "cpu" or name not in DATA["cuda"].get(section, ()):
            raise
        pytest.xfail(str(error))


@pytest.mark.skipif(OTHER_NUMPY, reason="the page is about another version of NumPy")
@pytest.mark.parametrize("section", SECTIONS)
def test_every_name_of_numpy_has_an_example_or_a_reason(section):
    known = {*DATA[section], *coverage["REASONS"].get(section, absent.NAMES)}
    assert [n for n in coverage["names"](section) if n not in known] == []


@pytest.mark.skipif(OTHER_NUMPY, reason="the page is about another version of NumPy")
@pytest.mark.parametrize("section", SECTIONS)
def test_examples_are_of_names_of_numpy(section):
    assert [n for n in DATA[section] if not has(SECTIONS[section][1], n)] == []


def test_lists_name_examples():
    for kind in ("cuda", "host"):
        for section, listed in DATA[kind].items():
            assert set(listed) <= set(DATA[section]), (kind, section)


def test_what_is_absent_is_absent_and_says_why():
    for name, reason in absent.NAMES.items():
        if name != "show_config":  # ours shows our configuration
            with pytest.raises(AttributeError, match=f"no {name}: ") as raised:
                getattr(xp, name)
            assert reason in str(raised.value)
    for name in absent.METHODS:
        assert not hasattr(xp.ndarray, name)
    for name in absent.GENERATOR:
        assert not hasattr(xp.random.Generator, name)


def test_counts():
    """95 % of NumPy's functions on the CPU, and no less than CuPy has on CUDA."""
    names = [(s, n) for s in SECTIONS for n in coverage["counted"](s)]
    here = [x for x in names if coverage["state"](*x) not in ("absent", "differs")]
    assert len(here) >= 0.95 * len(names)
    lacks = coverage["PEERS"]["CuPy"]["lacks"]
    for section in SECTIONS:
        known = coverage["counted"](section)
        ours = sum(coverage["on_cuda"](section, n) for n in known)
        assert ours >= len(known) - len(lacks[section]), section


def test_a_difference_is_found():
    difference = coverage["difference"]
    x = xp.asarray([1.0, 2.0])
    assert difference(x, np.array([1.0, 2.0])) == ""
    assert difference(x, np.array([1.0, 2.5]))
    assert difference(x, np.array([1, 2]))
    assert difference(x, np.array([[1.0, 2.0]]))
    assert difference((x, 1), (np.array([1.0, 2.0]), True))
    assert difference(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert difference((x,), (np.array([1.0, 2.0]), x))
