"""Compiled kernels: their C++ sources, and what compiles and loads them."""

from probing.native.compiling import Kernels, load
