"""File names as text: Python has surrogates for bytes that are not UTF-8, which can be neither stored nor shown."""

import re

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def is_utf8(name: str) -> bool:
    """Whether a name has no surrogates, so that it can be stored, sent and shown as it is."""
    return name.isascii() or not _SURROGATE.search(name)


def readable_name(name: str) -> str:
    """A path or another text without surrogates: each part in GBK, as on Chinese systems, or its bytes as %FF."""
    return name if is_utf8(name) else "/".join(map(_readable_part, name.split("/")))


def _readable_part(part: str) -> str:
    if is_utf8(part):
        return part
    try:
        return part.encode("utf-8", "surrogateescape").decode("gb18030")
    except UnicodeError:
        return _SURROGATE.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", part)
