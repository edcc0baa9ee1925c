"""Maps: words on a plane, so that words which are alike are close, and places on it have names.

``layouts`` finds the places, by the neighbours of each word or by PCA, ``regions`` gives parts of the plane their
names, and ``drawing`` puts both together with the share of neighbours that the map keeps, and keeps a drawing with the
model it was made of. Everything follows from unit vectors, in the order of their words' frequency.
"""
