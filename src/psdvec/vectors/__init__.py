"""Vectors of words: questions, neighbours, sentences."""
