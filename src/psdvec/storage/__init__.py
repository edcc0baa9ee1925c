"""Artefacts on disk: written whole or not at all, with what they are and where they come from."""
