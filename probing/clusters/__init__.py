"""Cells on the machines of a cluster that exists already: Ray's or Dask's."""
