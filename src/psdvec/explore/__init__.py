"""The explorer: a local page for looking into vectors, and the JSON API that the page itself uses.

``models`` opens one or two sets of vectors, and the counts they were made from, if given; ``contexts``, ``new_words``
and ``maps`` answer questions about them with plain values, and ``maps`` draws in another process; ``api`` reads what is
asked and puts the answers under names; ``app`` puts the names on the web, behind its checks, and listens, by default on
this machine only. The API is described in ``docs/exploring.md``.
"""
