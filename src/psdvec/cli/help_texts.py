"""What the help texts show of an option: a flag takes no value, so no type is shown after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperGroup


class Group(TyperGroup):
    """A group of commands in whose help texts flags stand alone, without a ``<bool>`` after them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group itself."""
        return _without_type(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of the group by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _without_type(command.get_params(ctx))
        return command


def _without_type(parameters: Iterable[Any]) -> list[Any]:
    parameters = list(parameters)
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
