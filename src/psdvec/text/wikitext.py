"""Turns wikitext, the markup of MediaWiki, into prose.

A :class:`Stripper` knows the prefixes that a wiki gives its files and categories, and cleans pages in batches: to
text with case and punctuation, or to English words as in the paper. The kernels in :mod:`psdvec.kernels.markup` do
the work; :mod:`psdvec.reference.wikitext` defines the rules.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from functools import cache

import numpy as np

from psdvec.arrays import Bytes, Int64s
from psdvec.kernels import characters, markup, prose
from psdvec.kernels.elements import BLOCK, INLINE, LITERAL, OPAQUE

_INLINE_TAGS = """
abbr b bdi bdo big cite data del dfn em font i ins kbd langconvert mark noinclude onlyinclude q
rb rp rt rtc ruby s samp section small span strike strong sub sup translate tt tvar u var wbr
"""
_BLOCK_TAGS = """
a blockquote br caption center dd div dl dt h1 h2 h3 h4 h5 h6 hr img li ol p poem tbody td
tfoot th thead tr ul
"""
_OPAQUE_TAGS = """
categorytree ce charinsert chem code gallery graph hiero imagemap includeonly indicator inputbox
mapframe maplink math phonos pre ref references score script source style syntaxhighlight table
templatedata templatestyles timeline
"""
TAGS = {
    **dict.fromkeys(_INLINE_TAGS.split(), INLINE),
    **dict.fromkeys(_BLOCK_TAGS.split(), BLOCK),
    **dict.fromkeys(_OPAQUE_TAGS.split(), OPAQUE),
    "nowiki": LITERAL,
}

FILE_PREFIXES = ("File", "Image", "Media")
CATEGORY_PREFIXES = ("Category",)

_LANGUAGES = """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba
ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug
bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp
dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan
gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr hsb ht hu hy hyw
hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp kcg kg kge ki kj
kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo
lrc lt ltg lv mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my
myv mzn na nah nan nap nb nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nup nv ny oc olo om
or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup
roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn si simple sk skr sl sm smn sn
so sq sr srn ss st stq su sv sw szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr
trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue
za zea zgh zh zh-classical zh-cn zh-min-nan zh-tw zh-yue zu
"""
LANGUAGES = frozenset(_LANGUAGES.split())


class Stripper:
    """Removes the markup from pages.

    Parameters
    ----------
    prefixes
        What the names of files and categories begin with in this wiki, besides the English prefixes.

    Examples
    --------
    >>> Stripper().texts([b"'''Cats''' {{citation needed}} are [[animal|animals]]."])
    ['Cats are animals.']
    >>> Stripper().words([b"The cat's [[File:Cat.jpg|thumb|A cat]] 9 lives."])
    ["the cat's lives"]
    """

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        names = {*FILE_PREFIXES, *CATEGORY_PREFIXES, *prefixes}
        self._tables = (
            _hashes(TAGS),
            np.fromiter(TAGS.values(), np.uint8),
            _hashes({variant for name in names for variant in (name, name.lower(), name.capitalize())}),
            _hashes(sorted(LANGUAGES)),
        )

    def texts(self, pages: Iterable[bytes]) -> list[str]:
        """Return the text of each page as one line, with case and punctuation."""
        stripped = self._strip(pages)
        target = np.empty(len(stripped) * 3 // 2 + 1, np.uint8)
        size = prose.tidy_text(stripped, target)
        return _split(target[:size])

    def words(self, pages: Iterable[bytes]) -> list[str]:
        """Return the English words of each page: a to z and inner apostrophes, in lower case."""
        stripped = self._strip(pages)
        target = np.empty(len(stripped) + 1, np.uint8)
        size = prose.english_words(stripped, target, _character_classes())
        return _split(target[:size])

    def _strip(self, pages: Iterable[bytes]) -> Bytes:
        """Return the pages without markup and with entities decoded, each followed by ``PAGE_END``."""
        end = bytes([characters.PAGE_END])
        joined = b"".join(part for page in pages for part in (page.replace(end, b" "), end))
        stripped: Bytes = markup.strip_markup(np.frombuffer(joined, np.uint8), *self._tables)
        text = stripped.tobytes()
        if b"&" in text:
            text = html.unescape(text.decode("utf-8", "replace")).encode("utf-8", "replace")
        return np.frombuffer(text, np.uint8)


def _hashes(names: Iterable[str]) -> Int64s:
    encoded = (np.frombuffer(name.encode(), np.uint8) for name in names)
    return np.fromiter((characters.hash_bytes(name) for name in encoded), np.int64)


def _split(pages: Bytes) -> list[str]:
    return pages.tobytes().decode("utf-8", "replace").split(chr(characters.PAGE_END))[:-1]


@cache
def _character_classes() -> Bytes:
    """Return the class of each character up to U+FFFF; see :func:`_character_class`."""
    return np.fromiter(map(_character_class, range(0x10000)), np.uint8)


def _character_class(code: int) -> int:
    """Return the letter or apostrophe to write, or whether the character ends a word, disqualifies it or is ignored."""
    character = chr(code)
    if character in "'\u2019":
        return characters.APOSTROPHE
    if character.isascii() and character.isalpha():
        return ord(character.lower())
    if code == characters.REMOVED or character == "\u00ad":
        return prose.IGNORED
    if character.isalnum() or unicodedata.category(character).startswith("M"):
        return prose.FOREIGN
    return prose.SEPARATOR
