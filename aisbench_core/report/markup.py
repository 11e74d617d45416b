"""HTML and SVG from values: everything that is not markup already is escaped."""

from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: object) -> Markup:
    """One element. Children and attributes that are None are left out; `_` in an attribute's name stands for `-`."""
    given = "".join(f' {_attribute(key)}="{_escaped(value)}"' for key, value in attributes.items() if value is not None)
    inside = joined(*children)
    return Markup(f"<{name}{given}>{inside}</{name}>")


def joined(*parts: object) -> Markup:
    """Several things one after the other."""
    return Markup("".join(part if isinstance(part, Markup) else _escaped(part) for part in parts if part is not None))


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _escaped(value: object) -> str:
    """Safe inside elements and attributes; characters that command terminals or hide text become visible."""
    text = "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in str(value))
    return escape(text, quote=True)
