"""Mutations of files: damage as disks and networks do it, and malice as somebody who knows the format would.

:func:`mutate` changes the bytes of a file; what it does depends on the file's format, so that much of the damage gets
past the first check and reaches what lies behind it: numbers inside a JSON document, arrays inside an archive, text
inside a compressed file. All of it is drawn from one :class:`random.Random`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

LARGEST = 8_000_000  # bytes of a file; larger ones may take more memory than a case has
NUMBERS = (
    "0", "-0", "1", "-1", "2", "7", "255", "2147483648", "4294967295", "9223372036854775807", "9223372036854775808",
    "99999999999999999999", "1000000000", "1e15", "1e20", "1e308", "1e999", "-1e999", "nan", "NaN", "inf", "-Infinity",
    "0.1", "1.5", "0x10", "1_000", "٣", "", " ", "9" * 5000, "0" * 5000, "[" * 2000, "[" * 200_000, '{"a":' * 100_000,
)  # fmt: skip
SNIPPETS = (
    b"\0", b"\0" * 100, b"\xff", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\n\n",
    b"\t", b" ", b" " * 1000, b",", b",,,", b"|", b":", b"\\", b'"', b"'", b"<", b">", b"<page>", b"</page>", b"<!--",
    b"-->", b"<!-- -->" * 200, b"<!DOCTYPE x>", b"<text>", b"</text>", b"</mediawiki>",
    b"<id>" + b"1" * 5000 + b"</id>", b"<ns>" + b"9" * 5000 + b"</ns>",
    b'<namespace key="1" ' * 2000, b"{{" * 1000, b"[[" * 1000, b"<ref>" * 1000,
    b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08", b"x" * 100_000, "\N{COMBINING ACUTE ACCENT}".encode() * 500,
    "\N{RIGHT-TO-LEFT OVERRIDE}".encode(), "\u2028".encode(), b"-DOCSTART-", b"#", b"Bigrams:",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, -(2**63), 0.0, 0.5, -0.5, 1e-320, 1e300, -1e300, float("nan"),
    float("inf"), "", "x", "1", "../x", "\ud800", "\0", "x" * 10_000, [], [1], [[]], {}, {"x": 1}, [None] * 50,
    {"": {}},
)  # fmt: skip
DTYPES = (
    "<f4", ">f4", "<f8", ">f8", "<f2", "<i8", ">i8", "<i4", ">i4", "<i2", "|i1", "|u1", "<u8", ">u8", "<u4", "<c8",
    "<c16", "|b1", "<U1", "<U5", "|S3", "<M8[s]", "<m8[D]", "|V4",
)  # fmt: skip
HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }",
    "{'descr': '<f4', 'fortran_order': 1, 'shape': (2.5,), }",
    "{'descr': '<f0', 'fortran_order': False, 'shape': (1000000000000,), }",
    "{'descr': ',', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1,) * 99}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 300 + ")" * 300 + "}",
    "((((",
    "'",
    "__import__('os')",
    "",
)


def mutate(name: str, data: bytes, rng: Random) -> bytes:
    """Return ``data``, the contents of a file called ``name``, with one to three changes; it stays small."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            data = _choose(name, rng)(data, rng)[:LARGEST]
        except Exception:  # an earlier change has made this one impossible
            continue
    return data


def _choose(name: str, rng: Random) -> Callable[[bytes, Random], bytes]:
    """Draw a kind of change: of the format, of its text or of its bytes."""
    for ending, (opening, closing) in _COMPRESSIONS.items():
        if name.endswith(ending) and rng.random() < 0.7:
            inner = name.removesuffix(ending)
            return lambda data, rng: _inside(data, rng, inner, opening, closing)
    for ending, change in _FORMATS.items():
        if name.endswith(ending) and rng.random() < 0.6:
            return change
    is_text = name.endswith((".txt", ".json", ".jsonl", ".xml", ".tsv", ".md"))
    return _change_text if is_text and rng.random() < 0.6 else _change_bytes


def _inside(data: bytes, rng: Random, name: str, opening: Any, closing: Any) -> bytes:
    return bytes(closing(mutate(name, opening(data), rng)))


def _slice(data: bytes, rng: Random, longest: int = 4000) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 8, rng.randrange(1, longest))))


def _change_bytes(data: bytes, rng: Random) -> bytes:
    begin, end = _slice(data, rng)
    what = rng.randrange(10)
    if what == 0 and data:  # a bit
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
    if what == 1 and data:
        place = rng.randrange(len(data))
        return data[:place] + rng.randbytes(1) + data[place + 1 :]
    if what == 2:
        return data[:begin]
    if what == 3:
        return data[begin:]
    if what == 4:
        return data[:begin] + data[end:]
    if what == 5:
        return data[:end] + data[begin:end] * rng.choice((1, 2, 50, 500)) + data[end:]
    if what == 6:
        other, last = _slice(data, rng)
        return data[:begin] + data[other:last] + data[end:]
    if what == 7:
        return data[:begin] + rng.choice(SNIPPETS) + data[begin:]
    if what == 8:
        number = rng.choice((0, 1, -1, 2**31 - 1, 2**31, 2**63 - 1, rng.getrandbits(62)))
        width = rng.choice((2, 4, 8))
        written = (number & (1 << 8 * width) - 1).to_bytes(width, rng.choice(("little", "big")))
        return data[:begin] + written + data[begin + width :]
    return data + rng.choice((b"\0" * 512, rng.randbytes(100), data, b"\n" * 5))


def _change_text(data: bytes, rng: Random) -> bytes:
    what = rng.randrange(9)
    lines = data.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    if what == 0:
        lines[place], lines[other] = lines[other], lines[place]
    elif what == 1:
        lines.insert(place, lines[other])
    elif what == 2:
        del lines[place]
    elif what == 3:  # the fields of a line
        separator = rng.choice((b" ", b"\t", b",", b"|", b'"'))
        fields = lines[place].split(separator)
        change = rng.randrange(4)
        at, also = rng.randrange(len(fields)), rng.randrange(len(fields))
        if change == 0:
            fields[at], fields[also] = fields[also], fields[at]
        elif change == 1:
            del fields[at]
        elif change == 2:
            fields.insert(at, fields[also])
        else:
            fields[at] = rng.choice(NUMBERS).encode()
        lines[place] = separator.join(fields)
    elif what == 4:
        return _change_number(data, rng)
    elif what == 5:
        lines[place] = rng.choice((b"", lines[place] * 300, rng.choice(SNIPPETS)))
    elif what == 6:
        lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
    elif what == 7:
        at = rng.randrange(len(lines[place]) + 1)
        lines[place] = lines[place][:at] + rng.choice(SNIPPETS) + lines[place][at:]
    else:
        return data.replace(*rng.choice(((b"\n", b"\r\n"), (b"\n", b"\r"), (b" ", b"\t"), (b"<", b"&lt;"))))
    return b"\n".join(lines)


def _change_number(data: bytes, rng: Random) -> bytes:
    """Put another number in the place of one."""
    digits = b"0123456789"
    starts = [i for i in range(len(data)) if data[i] in digits and (i == 0 or data[i - 1] not in digits)]
    if not starts:
        return data
    begin = rng.choice(starts)
    end = begin
    while end < len(data) and data[end] in digits:
        end += 1
    return data[:begin] + rng.choice(NUMBERS).encode() + data[end:]


def _change_json(data: bytes, rng: Random) -> bytes:
    """Change a value, a key or a length somewhere in a document."""
    return json.dumps(_change_node(json.loads(data), rng), ensure_ascii=rng.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def change_parameters(data: bytes, rng: Random) -> bytes:
    """Change one or two of the values with which an artefact says how it was made, its lists and records inside."""
    meta = json.loads(data)
    for _ in range(rng.choice((1, 1, 2))):
        meta["parameters"] = _change_leaf(meta["parameters"], rng)
    return json.dumps(meta).encode()


def _change_leaf(node: Any, rng: Random) -> Any:
    if isinstance(node, dict) and node and rng.random() < 0.95:
        key = rng.choice(sorted(node))
        return {**node, key: _change_leaf(node[key], rng)}
    if isinstance(node, list) and node and rng.random() < 0.8:
        place = rng.randrange(len(node))
        return [*node[:place], _change_leaf(node[place], rng), *node[place + 1 :]]
    return _change_node(node, rng)


def _change_node(node: Any, rng: Random) -> Any:
    if isinstance(node, dict) and node and rng.random() < 0.85:
        key = rng.choice(sorted(node))
        what = rng.random()
        if what < 0.1:
            return {name: value for name, value in node.items() if name != key}
        if what < 0.15:
            return {
                rng.choice(("", "x", "../x")) if name == key else name: value for name, value in node.items()
            }
        return {**node, key: _change_node(node[key], rng)}
    if isinstance(node, list) and node and rng.random() < 0.85:
        place = rng.randrange(len(node))
        what = rng.random()
        if what < 0.2:
            return node[:place] + node[place + 1 :]
        if what < 0.3:
            return node[:place] + [node[place]] * 2 + node[place + 1 :]
        return node[:place] + [_change_node(node[place], rng)] + node[place + 1 :]
    if isinstance(node, int | float) and not isinstance(node, bool) and rng.random() < 0.4:
        return rng.choice((node + 1, node - 1, -node, node * 2, float(node), str(node), node * 10**9))
    return rng.choice(VALUES)


def _change_json_lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    return b"\n".join([*lines[:place], _change_json(lines[place], rng), *lines[place + 1 :]])


def _change_array(data: bytes, rng: Random) -> bytes:
    """Change an ``.npy``: its header, its type, its shape or its numbers."""
    if rng.random() < 0.15:
        return _npy(rng.choice(HEADERS), data[128:], rng)
    array = np.load(io.BytesIO(data), allow_pickle=False)
    what = rng.randrange(8)
    if what == 0:
        array = array[: rng.randrange(len(array) + 1)]
    elif what == 1:
        array = np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
    elif what == 2:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = array.astype(rng.choice(DTYPES))
    elif what == 3:
        array = array.reshape(rng.choice(((-1, 1), (1, -1), (1, -1, 1), (-1,))))
    elif what == 4:
        array = array.view(rng.choice(DTYPES))
    elif what == 5:  # the same numbers, their bytes the other way round
        array = array.astype(array.dtype.newbyteorder(">"))
    else:
        array = _with_other_numbers(array, rng)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _npy(header: str, numbers: bytes, rng: Random) -> bytes:
    text = header.encode("latin-1", "replace") + b"\n"
    version = rng.choice((1, 1, 1, 2, 3, 4, 0, 255))
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + numbers


def _with_other_numbers(array: Any, rng: Random) -> Any:
    array = np.array(array)
    flat = array.reshape(-1)
    numbers = (0, 1, -1, 2**31 - 1, 2**62, 2**63 - 1, -(2**63), 1e-40, 1e30, 1e300, np.nan, np.inf, -np.inf)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rng.random() < 0.2:  # of all at once
            return array * np.array(rng.choice((0, -1, 2**33, 1e30, 1e-30))).astype(array.dtype)
        for _ in range(rng.choice((1, 1, 5, flat.size))):
            value = rng.choice((*numbers, rng.randrange(1000)))
            flat[rng.randrange(flat.size)] = np.array(value).astype(array.dtype)
    return array


def _change_tensors(data: bytes, rng: Random) -> bytes:
    """Change a ``.safetensors``: its header, with the length put right, or its numbers."""
    length = int.from_bytes(data[:8], "little")
    header, numbers = data[8 : 8 + length], data[8 + length :]
    what = rng.random()
    if what < 0.6:
        changed = _change_json(header, rng)
    elif what < 0.7:
        changed = rng.choice((b"[" * 100_000, b"{}", b"[]", b"null", b"", header.replace(b"F32", b"BF16")))
    else:
        place = 4 * rng.randrange(max(len(numbers) // 4, 1))
        value = np.array([rng.choice((np.nan, np.inf, -np.inf, 1e38, 0))], "<f4").tobytes()
        changed, numbers = header, numbers[:place] + value + numbers[place + 4 :]
    return len(changed).to_bytes(8, "little") + changed + numbers


def _change_archive(data: bytes, rng: Random) -> bytes:
    """Change a member of an ``.npz``, and how it is packed; its checksums are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = rng.choice(sorted(members))
    what = rng.random()
    if what < 0.1:
        del members[chosen]
    elif what < 0.2:
        members[rng.choice(("x.npy", "../x.npy", "words.npy", "counts.npy"))] = members[chosen]
    elif what < 0.9:
        members[chosen] = mutate("member.npy", members[chosen], rng)
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    packed = file.getvalue()
    if rng.random() < 0.15:  # the flag of encryption, or a compression that nobody knows
        at, value = rng.choice(((6, b"\1"), (8, b"\x63")))
        packed = packed[:at] + value + packed[at + 1 :]
        directory = packed.rfind(b"PK\1\2")
        packed = packed[: directory + at + 2] + value + packed[directory + at + 3 :]
    return packed


def _open_zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def _close_zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


_COMPRESSIONS: dict[str, tuple[Any, Any]] = {
    ".gz": (gzip.decompress, lambda data: gzip.compress(data, mtime=0)),
    ".bz2": (bz2.decompress, bz2.compress),
    ".xz": (lzma.decompress, lzma.compress),
    ".zst": (_open_zstd, _close_zstd),
}
_FORMATS: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": _change_json,
    ".jsonl": _change_json_lines,
    ".npy": _change_array,
    ".safetensors": _change_tensors,
    ".npz": _change_archive,
}
