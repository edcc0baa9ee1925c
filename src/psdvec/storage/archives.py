"""What Python raises for a zip archive that cannot be read."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib

# Damaged, cut off, encrypted, compressed in a way that nobody knows, or without the member that was asked for.
ZIP_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError, KeyError, ValueError, RuntimeError,
)  # fmt: skip
