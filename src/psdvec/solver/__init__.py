"""The solver: from counts to vectors, and new words beside old ones."""
