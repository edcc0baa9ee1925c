"""The explorer: a local page for looking into vectors, and the JSON API that the page itself uses.

Goes in: one or two sets of vectors, and the counts they were made from, if at hand. Comes out: a web application that
answers on this machine only. What it is asked and what it answers is in ``docs/exploring.md``.

``subjects`` opens what is looked at; ``answers``, ``contexts``, ``adding`` and ``maps`` answer questions about it, as
plain values; ``layouts`` computes slow maps in another process; ``app`` puts the answers on addresses, behind the
``guard``; ``server`` listens.
"""
