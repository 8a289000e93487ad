"""HTML and SVG as text in which every value is escaped: only `tag` makes elements."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


_SHAPES = {"path", "rect", "line", "circle"}


def tag(name: str, /, *children: str | Markup, **attributes: object) -> Markup:
    """An element. `class_` is the attribute `class`, `aria_label` is `aria-label`; None is none."""
    pairs = ((key.rstrip("_").replace("_", "-"), v) for key, v in attributes.items())
    words = "".join(f' {key}="{escape(str(v))}"' for key, v in pairs if v is not None)
    if name in _SHAPES and not children:
        return Markup(f"<{name}{words}/>")
    if name == "meta":
        return Markup(f"<{name}{words}>")
    return Markup(f"<{name}{words}>{joined(*children)}</{name}>")


def joined(*children: str | Markup, between: str = "") -> Markup:
    """Several elements and texts, one after the other."""
    parts = (child if isinstance(child, Markup) else escape(child) for child in children)
    return Markup(between.join(parts))


def section(title: str, *children: str | Markup, name: str) -> Markup:
    """A part of the page with its heading, which a table of contents of a reader names."""
    return tag("section", tag("h2", title, id=name), *children, aria_labelledby=name)


def drawing(
    name: str, size: tuple[float, float], title: str, text: str, *children: Markup, kind: str = ""
) -> Markup:
    """An SVG that grows with its column; `title` and `text` are for those who cannot see it."""
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", text, id=f"{name}-text"),
        *children,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        role="img",
        class_=kind or None,
        aria_labelledby=f"{name}-title {name}-text",
    )


def label(text: str, x: float, y: float, kind: str | None = None, **attributes: object) -> Markup:
    """A text in a drawing."""
    return tag("text", text, x=f"{x:.4g}", y=f"{y:.4g}", class_=kind, **attributes)
