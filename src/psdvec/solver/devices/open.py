"""Opening a device by its name; torch is loaded only where it is asked for."""

from __future__ import annotations

from psdvec.errors import InputError
from psdvec.solver.devices import Device


def open_device(name: str = "cpu", *, workers: int | None = None) -> Device:
    """Return a device by name: ``"cpu"``, ``"auto"`` for a GPU where there is one, or any that torch knows.

    ``workers`` are threads of the CPU. ``"torch:cpu"`` is torch on the CPU, which is how the code for GPUs is tested
    where there is none.
    """
    if name == "auto":
        name = "cuda" if _has_gpu() else "cpu"
    if name == "cpu":
        from psdvec.solver.devices.cpu import Cpu

        return Cpu(workers)
    try:
        from psdvec.solver.devices.gpu import Gpu
    except ModuleNotFoundError as error:
        raise InputError(
            f"the device '{name}' needs torch, which is not installed; pip install 'psdvec[gpu]', or use "
            'device="cpu"'
        ) from error
    return Gpu(name.removeprefix("torch:"))


def _has_gpu() -> bool:
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return bool(torch.cuda.is_available())
