"""Search: an index of documents, which finds them by words, by near words and by meaning, and says why."""
