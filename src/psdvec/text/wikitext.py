"""Turns wikitext, the markup of MediaWiki, into prose.

A :class:`Stripper` knows the prefixes that a wiki gives its files and categories, and cleans pages in batches: to
text with case and punctuation, or to English words as in the paper. The kernels below do
the work; :mod:`tests.reference.wikitext` defines the rules.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from functools import cache

import numpy as np

from psdvec.arrays import Bytes, Int64s
from psdvec.kernels import kernel
from psdvec.text.tokenizer_kernels import decode_character

# Names for bytes, and small functions on them that the kernels for wikitext share.

PAGE_END, REMOVED = 0x00, 0x01
TAB, NEWLINE, SPACE = 0x09, 0x0A, 0x20
EXCLAMATION, QUOTE, NUMBER, APOSTROPHE = 0x21, 0x22, 0x23, 0x27
OPEN_ROUND, CLOSE_ROUND, STAR = 0x28, 0x29, 0x2A
COMMA, FULL_STOP, SLASH = 0x2C, 0x2E, 0x2F
COLON, SEMICOLON, LESS, EQUALS, GREATER = 0x3A, 0x3B, 0x3C, 0x3D, 0x3E
OPEN_SQUARE, CLOSE_SQUARE, UNDERSCORE = 0x5B, 0x5D, 0x5F
SMALL_F, SMALL_H = 0x66, 0x68
OPEN_CURLY, BAR, CLOSE_CURLY, DELETE = 0x7B, 0x7C, 0x7D, 0x7F


@kernel
def hash_bytes(text):
    """Return a hash of 40 bits for ``text``, which is taken in lower case and with ``_`` as a space."""
    value = np.int64(len(text))
    for byte in text:
        letter = np.int64(SPACE if byte == UNDERSCORE else lower(byte))
        value = (value * 1_000_003 + letter) & 0xFFFFFFFFFF
    return value


@kernel
def lower(byte):
    """Return an ASCII letter in lower case, any other byte as it is."""
    return byte + 0x20 if 0x41 <= byte <= 0x5A else byte


@kernel
def is_alphanumeric(byte):
    """Tell whether ``byte`` is an ASCII letter or digit."""
    return 0x61 <= byte <= 0x7A or 0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x5A


@kernel
def is_blank(byte):
    """Tell whether ``byte`` is a space, a tab or the mark of something removed."""
    return byte in (SPACE, TAB, REMOVED)


@kernel
def begins(text, position, token):
    """Tell whether ``text`` has the bytes ``token`` at ``position``."""
    if position + len(token) > len(text):
        return False
    for offset in range(len(token)):  # noqa: SIM110  (no generators in a kernel)
        if text[position + offset] != token[offset]:
            return False
    return True


@kernel
def find(text, position, token):
    """Return the first position of ``token`` from ``position`` on, or -1 if the page ends before it."""
    while position < len(text) and text[position] != PAGE_END:
        if text[position] == token[0] and begins(text, position, token):
            return position
        position += 1
    return -1


@kernel
def run_length(text, position, longest):
    """Return how often the byte at ``position`` is repeated there, counting up to ``longest``."""
    end = position + 1
    while end < len(text) and end < position + longest and text[end] == text[position]:
        end += 1
    return end - position


@kernel
def put(target, size, byte):
    """Write ``byte`` at the end of ``target[:size]``, and return its size then."""
    target[size] = byte
    return size + 1


# The pass over wikitext that drops comments, HTML tags, and elements whose content is not prose.

INLINE, BLOCK, OPAQUE, LITERAL = 1, 2, 3, 4


# source uint8[n], target uint8[>= n], tags int64[t], kinds uint8[t]
@kernel
def drop_elements(source, target, tags, kinds):
    """Drop comments, HTML tags, and elements whose content is not prose."""
    size = position = 0
    comments_until = len(source)
    while position < len(source):
        byte = source[position]
        if byte == PAGE_END:
            comments_until = len(source)
        if byte != LESS:
            size = put(target, size, byte)
            position += 1
        elif begins(source, position, b"<!--"):
            end = find(source, position + 4, b"-->") if position < comments_until else -1
            if end < 0:
                comments_until = position
            position = position + 4 if end < 0 else end + 3
        else:
            position, size = _drop_tag(source, position, target, size, tags, kinds)
    return size


@kernel
def _drop_tag(source, position, target, size, tags, kinds):
    """Drop the tag at ``position``, with its content if that is not prose; a mere ``<`` is copied."""
    closing = position + 1 < len(source) and source[position + 1] == SLASH
    name_start = position + 1 + closing
    name_end = name_start
    while name_end < len(source) and is_alphanumeric(source[name_end]):
        name_end += 1
    kind = _look_up(hash_bytes(source[name_start:name_end]), tags, kinds)
    if kind == 0:
        return position + 1, put(target, size, LESS)
    tag_end = _tag_end(source, name_end)
    if tag_end < 0:
        return position + 1, size
    if kind >= OPAQUE and not closing and source[tag_end - 2] != SLASH:
        content_end = _closing_tag(source, tag_end, source[name_start:name_end])
        if content_end >= 0:
            if kind == LITERAL:  # with spaces for what later passes would take for markup
                for byte in source[tag_end:content_end]:
                    is_markup = byte in (OPEN_CURLY, CLOSE_CURLY, BAR, OPEN_SQUARE, CLOSE_SQUARE)
                    size = put(target, size, SPACE if is_markup else byte)
            else:
                size = put(target, size, REMOVED)
            tag_end = max(_tag_end(source, content_end + 2), content_end + 2)
    if kind == BLOCK:
        size = put(target, size, SPACE)
    return tag_end, size


@kernel
def _tag_end(source, position):
    """Return the position after the next ``>``, or -1 if ``<`` or the end of the page comes first."""
    while position < len(source) and source[position] not in (GREATER, LESS, PAGE_END):
        position += 1
    return position + 1 if position < len(source) and source[position] == GREATER else -1


@kernel
def _closing_tag(source, position, name):
    """Return the position of the next ``</name``, or -1 if ``<name`` or the end of the page comes first."""
    while position < len(source) and source[position] != PAGE_END:
        if source[position] == LESS:
            closing = position + 1 < len(source) and source[position + 1] == SLASH
            if _names_tag(source, position + 1 + closing, name):
                return position if closing else -1
        position += 1
    return -1


@kernel
def _names_tag(source, start, name):
    """Tell whether the tag name at ``start`` is ``name``."""
    end = start + len(name)
    if end > len(source) or (end < len(source) and is_alphanumeric(source[end])):
        return False
    for offset in range(len(name)):  # noqa: SIM110  (no generators in a kernel)
        if lower(source[start + offset]) != lower(name[offset]):
            return False
    return True


@kernel
def _look_up(value, keys, values):
    for place in range(len(keys)):
        if keys[place] == value:
            return values[place]
    return 0


# Fast removal of wikitext markup from UTF-8 bytes.

MAX_PREFIX = 100
MAX_DEPTH = 64


@kernel
def strip_markup(text, tags, kinds, namespaces, languages):
    """Run all passes over ``text``, uint8[n]; the tables are int64 hashes, ``kinds`` uint8[len(tags)]."""
    first, second = np.empty_like(text), np.empty_like(text)
    size = drop_elements(text, first, tags, kinds)
    size = drop_templates(first[:size], second)
    size = resolve_links(second[:size], first, namespaces, languages)
    size = drop_tables(first[:size], second)
    size = drop_addresses(second[:size], first)
    size = drop_line_markup(first[:size], second)
    return second[:size]


# source uint8[n], target uint8[>= n]
@kernel
def drop_templates(source, target):
    """Drop balanced ``{{...}}`` and ``{{{...}}}``; of unbalanced braces, drop only the braces."""
    starts = np.empty(len(source) // 2 + 1, np.int64)
    widths = np.empty(len(source) // 2 + 1, np.int64)
    size = position = depth = 0
    while position < len(source):
        byte = source[position]
        if byte == OPEN_CURLY and run_length(source, position, 4) >= 2:
            starts[depth] = size
            widths[depth] = 3 if run_length(source, position, 4) == 3 else 2
            position += widths[depth]
            depth += 1
        elif byte == CLOSE_CURLY and run_length(source, position, 4) >= 2:
            width = 2
            if depth:
                depth -= 1
                width = min(widths[depth], run_length(source, position, 4))
                size = put(target, starts[depth], REMOVED)
            position += width
        else:
            if byte == PAGE_END:
                depth = 0
            size = put(target, size, byte)
            position += 1
    return size


# source uint8[n], target uint8[>= n], namespaces int64[], languages int64[]
@kernel
def resolve_links(source, target, namespaces, languages):
    """Replace ``[[...]]`` by its text; drop links to files, categories and other languages entirely."""
    starts, bars = np.empty(MAX_DEPTH, np.int64), np.empty(MAX_DEPTH, np.int64)
    size = position = depth = 0
    while position < len(source):
        byte = source[position]
        if byte == OPEN_SQUARE and begins(source, position, b"[["):
            if depth < MAX_DEPTH:
                starts[depth], bars[depth] = size, -1
                depth += 1
            position += 2
        elif byte == CLOSE_SQUARE and begins(source, position, b"]]"):
            if depth:
                depth -= 1
                size = _close_link(target, starts[depth], bars[depth], size, namespaces, languages)
            position += 2
        else:
            if byte == BAR and depth and bars[depth - 1] < 0:
                bars[depth - 1] = size
            while byte == PAGE_END and depth:
                depth -= 1
                if _is_dropped(target[starts[depth] : size], namespaces, languages):
                    size = _drop_line(target, starts[depth], size)
            size = put(target, size, byte)
            position += 1
    return size


@kernel
def _close_link(target, start, bar, size, namespaces, languages):
    """Reduce the link written at ``target[start:size]``, whose first ``|`` is at ``bar``, to its text."""
    if _is_dropped(target[start:size], namespaces, languages):
        if find(target[:size], start, b"\n\n") >= 0:
            return _drop_line(target, start, size)
        return put(target, start, REMOVED)
    end = bar if bar >= 0 else size
    if find(target[:end], start, b"\n") >= 0:
        return size
    text = _skip_indent(target[:end], start)
    for place in range(bar + 1, size if bar >= 0 else 0):
        if not is_blank(target[place]):
            text, end = bar + 1, size
            break
    return _move(target, text, end, start)


@kernel
def _drop_line(target, start, size):
    """Remove what comes before the first newline from ``target[start:size]``."""
    return _move(target, _line_end(target[:size], start), size, start)


@kernel
def _move(target, start, end, place):
    """Move ``target[start:end]`` to ``place``, which is not after ``start``, and return where it then ends."""
    for offset in range(end - start):
        target[place + offset] = target[start + offset]
    return place + end - start


@kernel
def _is_dropped(link, namespaces, languages):
    """Tell whether a link, given without its brackets, leads to a file, a category or another language."""
    link = link[:MAX_PREFIX]
    start = 0
    while start < len(link) and is_blank(link[start]):
        start += 1
    end = find(link, start, b":")
    while end > start and (is_blank(link[end - 1]) or link[end - 1] == UNDERSCORE):
        end -= 1
    if end <= start:
        return False
    value = hash_bytes(link[start:end])
    if value in namespaces:
        return True
    for byte in link[start:end]:
        if byte != lower(byte):
            return False
    return value in languages


# source uint8[n], target uint8[>= n]
@kernel
def drop_tables(source, target):
    """Drop balanced ``{|...|}``; of a table without an end or a beginning, drop the lines that begin with ``|``."""
    starts = np.empty(len(source) // 2 + 1, np.int64)
    size = position = depth = 0
    at_line_start = True
    while position < len(source):
        byte = source[position]
        if at_line_start:
            marker = _skip_indent(source, position)
            if begins(source, marker, b"{|"):
                starts[depth] = size
                depth += 1
                position = _line_end(source, marker)
                continue
            if begins(source, marker, b"|}"):
                if depth:
                    depth -= 1
                    size = starts[depth]
                position = marker + 2
                at_line_start = False
                continue
            if marker < len(source) and source[marker] == BAR:
                position = _line_end(source, marker)
                continue
        if byte == PAGE_END:
            depth = 0
        at_line_start = byte in (NEWLINE, PAGE_END)
        size = put(target, size, byte)
        position += 1
    return size


@kernel
def _skip_indent(source, position):
    """Return the first position from ``position`` on that is neither blank nor a colon."""
    while position < len(source) and (is_blank(source[position]) or source[position] == COLON):
        position += 1
    return position


# source uint8[n], target uint8[>= n]
@kernel
def drop_addresses(source, target):
    """Drop web addresses; of ``[address text]``, keep the text."""
    size = position = 0
    in_link = False
    while position < len(source):
        byte = source[position]
        end = position
        if byte in (OPEN_SQUARE, SMALL_F, SMALL_H):
            end = _address_end(source, position)
        if end > position:
            in_link = in_link or byte == OPEN_SQUARE
            size = put(target, size, REMOVED)
            position = end
            continue
        in_link = in_link and byte not in (NEWLINE, PAGE_END)
        if in_link and byte == CLOSE_SQUARE:
            in_link = False
        else:
            size = put(target, size, byte)
        position += 1
    return size


@kernel
def _address_end(source, position):
    """Return the position after the address at ``position``, or ``position`` if there is none."""
    place = position
    if source[position] == OPEN_SQUARE:
        place += 1
        if not (
            _begins_with_scheme(source, place)
            or begins(source, place, b"//")
            or begins(source, place, b"mailto:")
        ):
            return position
    elif (position and is_alphanumeric(source[position - 1])) or not _begins_with_scheme(source, position):
        return position
    ends = (OPEN_SQUARE, CLOSE_SQUARE, LESS, GREATER, QUOTE, BAR)
    while place < len(source) and source[place] > SPACE and source[place] not in ends:
        place += 1
    return place


@kernel
def _begins_with_scheme(source, position):
    return (
        begins(source, position, b"http://")
        or begins(source, position, b"https://")
        or begins(source, position, b"ftp://")
    )


# source uint8[n], target uint8[>= n]
@kernel
def drop_line_markup(source, target):
    """Drop the marks of lists, headings and rules, runs of apostrophes, and magic words."""
    size = position = 0
    heading_end = -1
    at_line_start = True
    while position < len(source):
        byte = source[position]
        if at_line_start:
            at_line_start = False
            text, heading_end = _skip_line_marks(source, position)
            if text > position:
                position = text
                continue
        if position == heading_end:
            while source[position] == EQUALS:
                position += 1
            heading_end = -1
            continue
        if byte == APOSTROPHE:
            length = run_length(source, position, len(source))
            if length in (1, 4):
                size = put(target, size, APOSTROPHE)
            position += length
            continue
        if byte == UNDERSCORE:
            end = _magic_word_end(source, position)
            if end > position:
                position = end
                size = put(target, size, REMOVED)
                continue
        at_line_start = byte in (NEWLINE, PAGE_END)
        size = put(target, size, byte)
        position += 1
    return size


@kernel
def _skip_line_marks(source, position):
    """Return where the text of a line begins, and where the marks after a heading begin, or -1."""
    if position < len(source) and source[position] == EQUALS:
        text = position + run_length(source, position, len(source))
        end = _line_end(source, text)
        while end > text and is_blank(source[end - 1]):
            end -= 1
        marks = end
        while marks > text and source[marks - 1] == EQUALS:
            marks -= 1
        if text == end:
            return text, -1
        return (text, marks) if marks < end else (position, -1)
    if begins(source, position, b"----"):
        return position + run_length(source, position, len(source)), -1
    text = position
    while text < len(source) and source[text] in (STAR, NUMBER, COLON, SEMICOLON):
        text += 1
    return text, -1


@kernel
def _magic_word_end(source, position):
    """Return the position after the ``__MAGIC__`` word at ``position``, or ``position`` if there is none."""
    if not begins(source, position, b"__"):
        return position
    place = position + 2
    while place < len(source) and (
        0x41 <= source[place] <= 0x5A or source[place] >= 0x80 or source[place] == UNDERSCORE
    ):
        if place > position + 2 and begins(source, place, b"__"):
            return place + 2
        place += 1
    return position


@kernel
def _line_end(source, position):
    while position < len(source) and source[position] != NEWLINE and source[position] != PAGE_END:
        position += 1
    return position


# Turns wikitext without markup into lines of a corpus: the text, or the English words in it.

SEPARATOR, FOREIGN, IGNORED = 0, 1, 2


# source uint8[n], target uint8[>= 1.5 n]
@kernel
def tidy_text(source, target):
    """Put single spaces between words, and remove the empty brackets that removed markup left."""
    size = position = 0
    last = PAGE_END
    space = removed = removed_in_brackets = False
    while position < len(source):
        byte = source[position]
        width = 0 if is_alphanumeric(byte) else _space_width(source, position)
        position += max(width, 1)
        if byte == REMOVED:
            removed = removed_in_brackets = True
        elif width:
            space = True
        elif byte == CLOSE_ROUND and last == OPEN_ROUND and removed_in_brackets:
            size -= 2 if size > 1 and target[size - 2] == SPACE else 1  # the bracket, and the space before it
            last = target[size - 1] if size else PAGE_END
            space = removed = True
            removed_in_brackets = False
        elif not _is_unwanted(byte, last, removed_in_brackets):
            if (space or removed or last == LESS) and _needs_space(last, byte, space, removed):
                size = put(target, size, SPACE)
            space = removed = False
            removed_in_brackets = removed_in_brackets and byte != OPEN_ROUND
            target[size] = last = byte
            size += 1
    return size


@kernel
def _is_unwanted(byte, last, removed_in_brackets):
    """Tell whether ``byte`` after ``last`` would make a double bracket, or begin a bracket with a comma."""
    if last == OPEN_ROUND and removed_in_brackets:
        return byte in (COMMA, SEMICOLON)
    return byte == last and byte in (OPEN_CURLY, CLOSE_CURLY, OPEN_SQUARE, CLOSE_SQUARE)


@kernel
def _needs_space(last, byte, space, removed):
    """Tell whether a space belongs between ``last`` and ``byte``."""
    if last == PAGE_END or byte == PAGE_END:
        return False
    if last == LESS and (byte in (SLASH, EXCLAMATION) or is_alphanumeric(byte)):
        return True
    if removed and (last == OPEN_ROUND or byte in (CLOSE_ROUND, COMMA, SEMICOLON, FULL_STOP, COLON)):
        return False
    if removed and not space:
        return (is_alphanumeric(last) or last >= 0x80) and (is_alphanumeric(byte) or byte >= 0x80)
    return space


@kernel
def _space_width(source, position):
    """Return the width in bytes of the white space, or what becomes white space, at ``position``, or 0."""
    byte = source[position]
    if byte < 0x80:
        return 1 if REMOVED < byte <= SPACE or byte in (BAR, DELETE) else 0
    if byte == 0xC2 and position + 1 < len(source):
        follower = source[position + 1]
        return 2 if follower == 0xA0 or follower == 0x85 else 0
    if position + 2 < len(source):
        second, third = source[position + 1], source[position + 2]
        if byte == 0xE2 and second == 0x80 and (0x80 <= third <= 0x8B or 0xA8 <= third <= 0xAF):
            return 3
        if byte == 0xE3 and second == 0x80 and third == 0x80:
            return 3
    return 0


# source uint8[n], valid UTF-8; target uint8[>= n], classes uint8[65536]
@kernel
def english_words(source, target, classes):
    """Write the words made of a to z and inner apostrophes, in lower case and separated by single spaces."""
    size = position = 0
    page_start = word_start = 0
    foreign = False
    while position < len(source):
        character, width = decode_character(source, position)
        position += width
        kind = classes[character] if character < 65536 else FOREIGN
        if kind == FOREIGN:
            foreign = True
        elif kind > IGNORED:
            if kind != APOSTROPHE or size > word_start:
                size = put(target, size, kind)
        elif kind == SEPARATOR:
            size = _finish_word(target, word_start, size, foreign)
            if character == PAGE_END:
                size -= size > page_start
                size = put(target, size, PAGE_END)
                page_start = size
            word_start = size
            foreign = False
    return size


@kernel
def _finish_word(target, word_start, size, foreign):
    """End the word at ``target[word_start:size]`` with a space, or remove it."""
    if foreign:
        return word_start
    while size > word_start and target[size - 1] == APOSTROPHE:
        size -= 1
    if size > word_start:
        size = put(target, size, SPACE)
    return size


_INLINE_TAGS = """
abbr b bdi bdo big cite data del dfn em font i ins kbd langconvert mark noinclude onlyinclude q rb rp rt rtc
ruby s samp section small span strike strong sub sup translate tt tvar u var wbr
"""
_BLOCK_TAGS = """
a blockquote br caption center dd div dl dt h1 h2 h3 h4 h5 h6 hr img li ol p poem tbody td tfoot th thead tr
ul
"""
_OPAQUE_TAGS = """
categorytree ce charinsert chem code gallery graph hiero imagemap includeonly indicator inputbox mapframe
maplink math phonos pre ref references score script source style syntaxhighlight table templatedata
templatestyles timeline
"""
TAGS = {
    **dict.fromkeys(_INLINE_TAGS.split(), INLINE),
    **dict.fromkeys(_BLOCK_TAGS.split(), BLOCK),
    **dict.fromkeys(_OPAQUE_TAGS.split(), OPAQUE),
    "nowiki": LITERAL,
}

_LANGUAGES = """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban bar
bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo
ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz ee el eml en eo es
et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu
guc gur guw gv ha hak haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja
jam jbo jv ka kaa kab kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb
lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos
mr mrj ms mt mus mwl my myv mzn na nah nan nap nb nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nup nv
ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup
roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn si simple sk skr sl sm smn sn so sq
sr srn ss st stq su sv sw szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw
ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical
zh-cn zh-min-nan zh-tw zh-yue zu
"""
LANGUAGES = frozenset(_LANGUAGES.split())


class Stripper:
    """Removes the markup from pages.

    ``prefixes``: what the names of files and categories begin with in this wiki, besides the English prefixes.

    >>> Stripper().texts([b"'''Cats''' {{citation needed}} are [[animal|animals]]."])
    ['Cats are animals.']
    >>> Stripper().words([b"The cat's [[File:Cat.jpg|thumb|A cat]] 9 lives."])
    ["the cat's lives"]
    """

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        names = {"File", "Image", "Media", "Category", *prefixes}
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
        size = tidy_text(stripped, target)
        return _split(target[:size])

    def words(self, pages: Iterable[bytes]) -> list[str]:
        """Return the English words of each page: a to z and inner apostrophes, in lower case."""
        stripped = self._strip(pages)
        target = np.empty(len(stripped) + 1, np.uint8)
        size = english_words(stripped, target, _character_classes())
        return _split(target[:size])

    def _strip(self, pages: Iterable[bytes]) -> Bytes:
        """Return the pages without markup and with entities decoded, each followed by ``PAGE_END``."""
        end = bytes([PAGE_END])
        joined = b"".join(part for page in pages for part in (page.replace(end, b" "), end))
        stripped: Bytes = strip_markup(np.frombuffer(joined, np.uint8), *self._tables)
        text = html.unescape(stripped.tobytes().decode("utf-8", "replace"))
        return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def _hashes(names: Iterable[str]) -> Int64s:
    encoded = (np.frombuffer(name.encode(), np.uint8) for name in names)
    return np.fromiter((hash_bytes(name) for name in encoded), np.int64)


def _split(pages: Bytes) -> list[str]:
    return pages.tobytes().decode("utf-8", "replace").split(chr(PAGE_END))[:-1]


@cache
def _character_classes() -> Bytes:
    """Return the class of each character up to U+FFFF; see :func:`_character_class`."""
    return np.fromiter(map(_character_class, range(0x10000)), np.uint8)


def _character_class(code: int) -> int:
    """Return the letter or apostrophe to write, or whether the character ends a word, disqualifies it or is ignored."""
    character = chr(code)
    if character in "'\u2019":
        return APOSTROPHE
    if character.isascii() and character.isalpha():
        return ord(character.lower())
    if code == REMOVED or character == "\u00ad":
        return IGNORED
    if character.isalnum() or unicodedata.category(character).startswith("M"):
        return FOREIGN
    return SEPARATOR
