"""Runs the command line as ``python -m psdvec``."""

from psdvec.cli import main

main()
