"""The classes of failure: one file for each; the file of the class host-memory is host_memory.py.

Here is how a class is found by its code. A class's file has a docstring (its first line is the
title, the rest is the page), SIGNS, CURE, MISLEADS and EXPLAINS. Not here: how lines are read, and
how the first failure is found.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from jobgen.diagnosis.signs import Sign


@dataclass(frozen=True)
class FailureClass:
    """A class of failure by its code, such as host-memory."""

    code: str
    module: ModuleType

    @property
    def title(self) -> str:
        """What fails, in one line."""
        return (self.module.__doc__ or "").strip().partition("\n")[0].rstrip(".")

    @property
    def page(self) -> str:
        """What happens, how it shows, what misleads, the cure, and the sources."""
        return (self.module.__doc__ or "").strip().partition("\n")[2].strip()

    @property
    def signs(self) -> tuple[Sign, ...]:
        """The patterns of its lines."""
        return tuple(self.module.SIGNS)

    @property
    def cure(self) -> str:
        """What to do, in one line; groups of a pattern are in braces."""
        return str(getattr(self.module, "CURE", ""))

    @property
    def misleads(self) -> str:
        """What looks like the cause, and is not; "" if nothing does."""
        return str(getattr(self.module, "MISLEADS", ""))

    @property
    def explains(self) -> tuple[str, ...]:
        """The codes of the classes that are its consequences when both are seen."""
        return tuple(getattr(self.module, "EXPLAINS", ()))


def codes() -> list[str]:
    """The codes of all classes, sorted; none is imported."""
    return list(_modules())


@cache
def classes() -> dict[str, FailureClass]:
    """All classes by their codes, sorted."""
    return {
        code: FailureClass(code, import_module(f"{__name__}.{name}"))
        for code, name in _modules().items()
    }


@cache
def _modules() -> dict[str, str]:
    """The names of the classes' modules by their codes, sorted."""
    names = sorted(name for _, name, _ in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): name for name in names if not name.startswith("_")}
