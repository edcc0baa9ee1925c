"""Topics: what documents are about, as vectors in the space of the words.

``documents`` reads, and finds the space of the words; ``learn`` clusters, and alternates between words and topics, with
``kernels``; ``topics`` does it all in one call, and holds the result; ``page`` writes and reads its folder.
"""
