"""Counts: how often words, and pairs of words, occur."""
