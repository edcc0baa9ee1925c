"""Tagging tasks: named entities and chunks."""
