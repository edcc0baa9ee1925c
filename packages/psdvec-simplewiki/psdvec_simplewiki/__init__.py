"""Vectors of Simple English Wikipedia for psdvec, which finds them by their name: ``psdvec.load("simplewiki")``."""

from pathlib import Path

PATH = Path(__file__).parent / "simplewiki"
