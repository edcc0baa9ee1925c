"""Counting and solving on a Dask cluster."""
