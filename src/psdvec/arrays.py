"""Names of the array types that signatures use, each for one dtype; shapes are stated where they matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
