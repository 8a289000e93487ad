"""Where the bundled profiles and templates are, installed or in a checkout."""

from __future__ import annotations

from pathlib import Path


def bundled(kind: str) -> Path:
    """The folder `kind` ("profiles" or "templates") that came with jobgen.

    A wheel carries it inside the package; an editable install finds it at the checkout's root,
    which counts only where pyproject.toml is, so that a stray folder beside site-packages does
    not.
    """
    package = Path(__file__).parent
    inside, checkout = package / kind, package.parent
    if not inside.is_dir() and (checkout / "pyproject.toml").is_file():
        return checkout / kind
    return inside
