"""Topics: what documents are about, as vectors in the space of the words.

``documents`` reads, ``start`` clusters, ``solve`` fits topics to words, ``learn`` alternates, ``values`` holds the
result and takes new documents, ``words`` names topics, ``quality`` judges them, ``tables`` sums up, ``page`` shows, and
``run`` does it all.
"""
