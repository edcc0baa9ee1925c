"""Text: from dumps, files and streams to words."""
