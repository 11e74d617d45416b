"""Which names people and programs may have: none of the system's, and none that is read as another one."""

import os
import pwd
import unicodedata
from collections.abc import Iterable

from aisbench_core.messages import Message

# What runs, events and the audit name where no person acts; and who runs everything.
RESERVED = ("console", "aisbench", "follower", "cloud", "root", "nobody")
# Accounts of the system, such as www-data, have lower numbers on Linux; people and their shells have higher ones.
FIRST_PERSON = 1000

# Scripts that names are written in together, as in Chinese, Japanese and Korean ones with Latin letters.
_TOGETHER = frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
# Small letters that are drawn like Latin ones (UTS #39): Cyrillic, then Greek, then Latin without its dot.
_DRAWN_ALIKE = str.maketrans(
    "асԁеһіјкӏмоԛргѕтѵԝхуαϲεικνορτυχγı", "acdehijklmoqprstvwxyaceikvoptuxyi"
)  # that is what they are for


def folded(name: str) -> str:
    """The same for names that only a close look tells apart."""
    return unicodedata.normalize("NFKC", name).casefold().translate(_DRAWN_ALIKE)


def composed(name: str) -> str:
    """The name with each letter and its accents as one character: é may come as two."""
    return unicodedata.normalize("NFC", name)


def decoded(header: str) -> str:
    """A name in a header: servers read headers as Latin-1, and proxies write UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def name_problem(name: str, others: Iterable[str]) -> Message | None:
    """Why nobody new may have a name beside these others; None if it is neither the system's nor read as another."""
    if alike := [other for other in sorted(others) if folded(other) == folded(name)]:
        return Message("another account already has the name {name}: {other}", name=name, other=alike[0])
    if folded(name) in RESERVED or _is_system_account(name):
        return Message("the name {name} is reserved for the system", name=name)
    scripts = {unicodedata.name(letter, "?").partition(" ")[0] for letter in name if letter.isalpha()}
    if unicodedata.normalize("NFKC", name) != composed(name) or (len(scripts) > 1 and not scripts <= _TOGETHER):
        return Message("the name {name} has letters that look like others", name=name)
    return None


def _is_system_account(name: str) -> bool:
    return any(_is_of_system(each) for each in (name, folded(name))) or folded(name) == folded(_own_name())


def _is_of_system(name: str) -> bool:
    try:
        account = pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return account.pw_uid < FIRST_PERSON or account.pw_uid == os.getuid()


def _own_name() -> str:
    """Empty in a container whose user has no entry."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""
