"""Values of PBS's options: how each is written, and what PBS takes."""

import re

from jobgen.errors import problem
from jobgen.schedulers import after_hint

_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=^\[\]*&|~#-]+")


def quoted(value: str) -> str:
    r"""A value as qsub reads it (qsub.c, `make_argv`).

    Inside quotes of either kind only their end is special; outside, \ escapes.
    """
    if not value or _PLAIN.fullmatch(value):
        return value
    pieces = re.findall(r"[^\"]+|\"+", value)
    return "".join(f"'{text}'" if text[0] == '"' else f'"{text}"' for text in pieces)


def array(text: str | None) -> str | None:
    """The value of -J. Raises JobgenError for what is no array."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})(?::[1-9]\d*)?(?:%[1-9]\d*)?", text, re.ASCII)
    if not found or int(found[1]) >= int(found[2]):
        hint = "FIRST-LAST[:STEP][%AT_ONCE], the last greater than the first, such as 0-9%2"
        raise problem("--array", f"PBS takes no array {text!r:.40}", "value", hint)
    return text


def depend(jobs: tuple[str, ...]) -> str:
    """The value of -W for jobs that come first (qsub(1B), depend)."""
    kinds: dict[str, list[str]] = {}
    for text in jobs:
        found = re.fullmatch(
            r"(\d+(?:\[\d*\])?(?:\.[A-Za-z0-9.-]+)?)(?::(ok|any|notok))?", text, re.ASCII
        )
        if not found:
            hint = "ID[:ok|any|notok], such as 123, 123.server or 123[]:any"
            hint = after_hint(text, hint, r"\d+(\[\d*\])?(\.[A-Za-z0-9.-]+)?")
            raise problem("--after", f"{text!r:.40} is not a job of PBS", "value", hint)
        kinds.setdefault(found[2] or "ok", []).append(found[1])
    joined = ",".join(f"after{kind}:{':'.join(ids)}" for kind, ids in kinds.items())
    return f"depend={joined}" if joined else ""
