"""Docstrings as the site shows them: a griffe extension that ``mkdocs.yml`` names.

Goes in: docstrings in NumPy's style, with roles such as ``:func:`psdvec.fit``` and examples that may stand without a
heading. Comes out: the same with plain code for roles and a heading over examples, which the site's Markdown would
take for quotations.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`(~?)([\w.]+)`")
BARE_EXAMPLE = re.compile(r"\n\n(?=>>> )")
LITERAL = re.compile(r"^::$", re.MULTILINE)


def as_markdown(text: str) -> str:
    r"""Return a docstring's text for Markdown.

    >>> as_markdown("Call :func:`~psdvec.fit`.")
    'Call `fit`.'
    >>> as_markdown("One.\n\n>>> 1\n1")
    'One.\n\nExamples\n--------\n>>> 1\n1'
    """
    text = ROLE.sub(lambda role: f"`{role[2].rpartition('.')[2] if role[1] else role[2]}`", text)
    text = LITERAL.sub("", text)
    return text if "Examples\n---" in text else BARE_EXAMPLE.sub("\n\nExamples\n--------\n", text, count=1)


class Docstrings(griffe.Extension):
    """Rewrites every docstring that griffe reads."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of ``obj``, if it has one."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
