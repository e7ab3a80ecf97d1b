"""Builds the extension; without a compiler the package installs all the same, and has no loops."""

import sysconfig

from setuptools import Extension, setup

FOLDER = "src/wordveil_kernels/"
SOURCES = ("module.c", "portable.c", "avx2.c", "avx512.c")
HEADERS = (
    "kernels.h",
    "vectors.h",
    "integers.h",
    "cells.h",
    "tile.h",
    "codes.h",
    "coded_cells.h",
    "answers.h",
)

# There is no stable interface for Python without its global lock; NumPy searches there.
HAS_LOCK = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "wordveil_kernels._kernels",
            [FOLDER + name for name in SOURCES],
            depends=[FOLDER + name for name in HEADERS],
            # Nothing may be contracted or reordered that the code does not say: its bounds count roundings.
            extra_compile_args=["-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")],
            py_limited_api=True,
            optional=True,
        )
    ]
    * HAS_LOCK,
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if HAS_LOCK else {},
)
