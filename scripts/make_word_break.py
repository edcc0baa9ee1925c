"""Write src/psdvec/text/word_break.npy: the role of every code point in Unicode's word boundaries.

Run by hand, with the `regex` package installed, when a new version of Unicode comes out.
"""

from pathlib import Path

import numpy as np
import regex

from psdvec.text import tokenizer_kernels as roles

PROPERTIES = {
    "ALetter": roles.LETTER,
    "Hebrew_Letter": roles.HEBREW,
    "Numeric": roles.NUMBER,
    "Katakana": roles.KATAKANA,
    "ExtendNumLet": roles.CONNECTOR,
    "MidLetter": roles.MID_LETTER,
    "MidNum": roles.MID_NUMBER,
    "MidNumLet": roles.MID_BOTH,
    "Single_Quote": roles.SINGLE_QUOTE,
    "Double_Quote": roles.DOUBLE_QUOTE,
    "Extend": roles.TRANSPARENT,
    "Format": roles.TRANSPARENT,
    "ZWJ": roles.TRANSPARENT,
}


def role_of_each_code_point() -> np.ndarray:
    """Return uint8[0x110000]; letters and digits that Unicode leaves unclassified are words of their own."""
    text = "".join(chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000)
    table = np.full(0x110000, roles.SEPARATOR, dtype=np.uint8)
    for match in regex.finditer(r"[\p{Alphabetic}\p{N}]", text):
        table[ord(match[0])] = roles.ALONE
    for name, role in PROPERTIES.items():
        for match in regex.finditer(rf"\p{{Word_Break={name}}}", text):
            table[ord(match[0])] = role
    table[ord("\n")] = roles.LINE_END
    return table


def main() -> None:
    table = role_of_each_code_point()
    starts = np.flatnonzero(np.diff(table, prepend=255)).astype(np.uint32)
    ranges = np.stack([starts, table[starts].astype(np.uint32)], axis=1)
    np.save(Path(__file__).parent.parent / "src/psdvec/text/word_break.npy", ranges)


if __name__ == "__main__":
    main()
