"""Fast arithmetic of the processor: compiled kernels, their C++ sources, matrix products."""

from probing.native.compiling import Kernels, load, load_for_training
from probing.native.processor import has_narrow_products, name_processor
from probing.native.products import (
    FastProducts,
    active_products,
    differentiate,
    operations_as_they_are,
    products_in,
)
