"""Builds the functions in C, where there is a compiler. All else is in pyproject.toml."""

from glob import glob

import numpy as np
from setuptools import Extension, setup

FOLDER = "cucudnn/accelerator"

setup(
    ext_modules=[
        Extension(
            "cucudnn.accelerator._c",
            [f"{FOLDER}/module.c"],
            depends=glob(f"{FOLDER}/*.h"),
            include_dirs=[np.get_include()],
            optional=True,  # without a compiler the package is the same, and slower
        )
    ]
)
