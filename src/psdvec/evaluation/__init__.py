"""Evaluation: test sets, scores, intervals and reports."""
