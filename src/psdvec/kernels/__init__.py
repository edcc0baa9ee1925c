"""Compiled loops, each with a slow twin in :mod:`psdvec.reference` that defines it, and LAPACK's routines."""
