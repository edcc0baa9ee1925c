"""Numbers as text, thousands at a time: ``"%.9g" % x`` for every number of a float32 matrix.

Nine digits are enough for float32: reading them back gives the same bits.

Numbers with ``1e-4 <= |x| < 10``, and 0, are written without an exponent and with at most twelve digits after
the point. For ``10^-k <= |x| < 10^(1-k)`` their nine digits are ``round(|x| 10^(8+k))``, where the product is
exact in float64: x has 24 bits, ``5^(8+k)`` at most 28, and powers of two need none. So array arithmetic and tables
give the text of whole blocks; other numbers are formatted one by one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psdvec.arrays import Bools, Float32s, Float64s, Int64s

_SMALLEST, _LARGEST = 1e-4, 10.0
_SCALES = 10.0 ** np.arange(8, 13)
_SHIFTS = 10 ** np.arange(4, -1, -1, dtype=np.int64)


def _table(texts: list[bytes]) -> npt.NDArray[np.uint32]:
    """Return texts of at most four bytes as numbers, padded with zero bytes."""
    return np.frombuffer(b"".join(text.ljust(4, b"\0") for text in texts), dtype=np.uint32)


# By 20 * (whole number) + 10 * (negative) + first digit: the space, the sign, the digit and the point.
_BEGIN = _table(
    [b" " + sign + b"%d" % i + point for point in (b".", b"") for sign in (b"", b"-") for i in range(10)]
)
# The next four digits: where more follow, and where only zeros do.
_MIDDLE = _table([b"%04d" % i for i in range(10_000)])
_LAST = _table([(b"%04d" % i).rstrip(b"0") for i in range(10_000)])


def format_rows(block: Float32s) -> list[bytes]:
    """Return each row as text, with a space before each number.

    >>> format_rows(np.array([[1 / 3, -2], [0, 1e-7]], dtype=np.float32))
    [b' 0.333333343 -2', b' 0 1.00000001e-07']
    """
    values = np.asarray(block, dtype=np.float64).ravel()
    sizes = np.abs(values)
    unusual = np.flatnonzero(~((sizes >= _SMALLEST) & (sizes < _LARGEST) | (sizes == 0)))
    sizes[unusual] = 0
    cells = _format_usual(np.signbit(values), sizes)
    for i in unusual.tolist():
        cells[i] = np.frombuffer((b" %.9g" % values[i]).ljust(16, b"\0"), dtype=np.uint32)
    return [row.tobytes().translate(None, b"\0") for row in cells.reshape(len(block), -1)]


def _format_usual(negative: Bools, sizes: Float64s) -> npt.NDArray[np.uint32]:
    """Return (n, 4) cells with the text of each number, padded with zero bytes."""
    k = np.zeros(len(sizes), dtype=np.intp)
    for border in (1.0, 0.1, 0.01, 0.001):
        k += sizes < border
    fixed = np.rint(sizes * _SCALES[k]).astype(np.int64) * _SHIFTS[k]  # in units of 1e-12
    head, after = _split(fixed, 10**8)
    whole, first = _split(head, 10**4)
    second, third = _split(after, 10**4)
    ends = after == 0
    cells = np.empty((len(sizes), 4), dtype=np.uint32)
    cells[:, 0] = _BEGIN[whole + 10 * negative + 20 * (ends & (first == 0))]
    cells[:, 1] = np.where(ends, _LAST[first], _MIDDLE[first])
    cells[:, 2] = np.where(third == 0, _LAST[second], _MIDDLE[second])
    cells[:, 3] = _LAST[third]
    return cells


def _split(numbers: Int64s, unit: int) -> tuple[Int64s, Int64s]:
    quotient = numbers // unit
    return quotient, numbers - unit * quotient
