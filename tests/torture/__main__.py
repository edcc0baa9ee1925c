"""Runs every part of the torture: ``python -m tests.torture --minutes 60 --seed 1``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests import torture

Part = Callable[[int, float, Path], list[str]]


def parts() -> dict[str, Part]:
    """Return what each module of this package runs, by the module's name."""
    names = [module.name for module in pkgutil.iter_modules(torture.__path__) if module.name != "__main__"]
    modules = {name: importlib.import_module(f"{torture.__name__}.{name}") for name in names}
    return {name: module.run for name, module in modules.items() if hasattr(module, "run")}


def main() -> int:
    found = parts()
    arguments = argparse.ArgumentParser(prog="python -m tests.torture", description=torture.__doc__)
    arguments.add_argument("--minutes", type=float, default=60, help="how long all parts take together")
    arguments.add_argument("--seed", type=int, default=1, help="another number draws other cases")
    arguments.add_argument("--keep", type=Path, default=Path("torture-failures"), help="where failures go")
    arguments.add_argument("--only", choices=sorted(found), action="append", help="run only this part")
    given = arguments.parse_args()
    chosen = given.only or sorted(found)
    failures: list[str] = []
    for name in chosen:
        failures += found[name](given.seed, given.minutes / len(chosen), given.keep / name)
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures" + (f", kept in '{given.keep}'" if failures else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
