"""Comparison of several methods on one corpus."""
