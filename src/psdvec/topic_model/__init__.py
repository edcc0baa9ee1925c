"""Topics: what documents are about, as vectors in the space of the words."""
