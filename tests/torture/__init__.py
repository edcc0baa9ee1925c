"""Hostile input by the thousand: what must never crash, hang or lie, whatever it is given.

Every module here that has a ``run(seed, minutes, keep)`` is a part of the torture, which returns its failures, one line
each, and keeps what failed in the folder ``keep``. ``python -m tests.torture`` runs all parts; a sample of each runs
with the other tests.
"""
