"""Counting and fitting on a Dask cluster."""
