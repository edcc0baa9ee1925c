"""Maps: words on a plane, so that words which are alike are close, and places on it have names."""
