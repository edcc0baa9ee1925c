"""Slices of documents, such as decades or parties: which words are used differently there, and how sure that is."""
