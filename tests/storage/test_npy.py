"""Headers of arrays, and JSON: what is written is read back, and anything else is a ``ValueError``."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from psdvec.storage.artefact import map_array, parse_json, read_header
from tests.torture.mutations import HEADERS

types = st.sampled_from(["<f4", ">f8", "<i8", "<i4", "|u1", "<u8", "|b1", "<c8", "<U3", "|S2"])


@given(
    array=hnp.arrays(types, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    by_columns=st.booleans(),
)
def test_every_plain_array_is_mapped_as_it_was_saved(array, by_columns, tmp_path):
    array = np.asfortranarray(array) if by_columns else array
    np.save(tmp_path / "a.npy", array)
    found = map_array(tmp_path / "a.npy")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


@given(data=st.binary(max_size=200), place=st.integers(0, 150))
def test_any_header_is_read_or_a_value_error(data, place):
    file = io.BytesIO()
    np.save(file, np.arange(5))
    changed = file.getvalue()[:place] + data + file.getvalue()[place + len(data) :]
    try:
        read_header(io.BytesIO(changed))
    except ValueError:
        return


@pytest.mark.parametrize(
    "header", [*HEADERS, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1"]
)
def test_a_header_that_describes_no_plain_array_that_is_there_is_refused(header, tmp_path):
    text = header.encode() + b"\n"
    begin = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little")
    (tmp_path / "a.npy").write_bytes(begin + text + bytes(12))
    with pytest.raises(ValueError):
        map_array(tmp_path / "a.npy")


def test_a_file_with_more_or_less_than_the_array_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(5))
    whole = (tmp_path / "a.npy").read_bytes()
    for data in (whole[:-1], whole + b"\0", whole[:100], b""):
        (tmp_path / "a.npy").write_bytes(data)
        with pytest.raises(ValueError):
            map_array(tmp_path / "a.npy")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "{", b"\xff"])
def test_json_that_cannot_be_read_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_json(text)
