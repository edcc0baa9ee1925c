"""Word vectors in use: questions, neighbours, sentences."""
