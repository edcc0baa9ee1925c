"""Documents by themselves: their vectors, which are nearly the same, and the words that tell groups of them apart."""
