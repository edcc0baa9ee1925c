"""PSDVec: word vectors from your own text, and new words later."""

__version__ = "0.1.0"
