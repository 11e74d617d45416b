"""Which names people and programs may have: none of the system's, and none that is read as another one."""

import pwd
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from aisbench_core.base.messages import Message
from aisbench_core.config.process_account import process_account

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
# Latin letters of phonetic scripts, which no language writes names in.
_PHONETIC = str.maketrans("ɑɡᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "agabcdefghijklmnoprstuvwyz")
# What is told apart only before capitals are made small, and digits.
_DRAWN_LIKE_CAPITALS = str.maketrans("IІΙɪ1|ǀ0", "lllllllo")
# Drawn as nothing, or as a space: the default ignorable code points that are not of category Cf, and blank Braille.
_UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class NameProblem:
    """Why nobody new may have a name. `hint`: what to do about it, if more helps than another name."""

    message: Message
    hint: Message | None = None


def compose_name(name: str) -> str:
    """The name with each letter and its accents as one character: é may come as two."""
    return unicodedata.normalize("NFC", name)


def decode_header(header: str) -> str:
    """A name in a header: servers read headers as Latin-1, and proxies write UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def name_problem(name: str, others: Iterable[str]) -> NameProblem | None:
    """Why nobody new may sign in under a name beside these others; None if it is neither the system's nor alike."""
    if _are_alike(name, process_account()):
        hint = Message("run the console from an account of its own, or use another name")
        return NameProblem(Message("the name {name} is reserved for the system", name=name), hint)
    return program_name_problem(name, others) or _system_problem(name)


def program_name_problem(name: str, others: Iterable[str]) -> NameProblem | None:
    """Why no new program may have a name beside those of people. Services are called as their accounts are."""
    if problem := alike_problem(name, others):
        return problem
    if any(_are_alike(name, reserved) for reserved in RESERVED):
        return NameProblem(Message("the name {name} is reserved for the system", name=name))
    if _UNSEEN.search(name) or any(unicodedata.category(letter) == "Cf" for letter in name):
        return NameProblem(Message("the name {name} has characters that cannot be seen", name=name))
    scripts = {unicodedata.name(letter, "?").partition(" ")[0] for letter in name if letter.isalpha()}
    is_mixed = len(scripts) > 1 and not scripts <= _TOGETHER
    if is_mixed or name.translate(_PHONETIC) != name or unicodedata.normalize("NFKC", name) != compose_name(name):
        return NameProblem(Message("the name {name} has letters that look like others", name=name))
    return None


def alike_problem(name: str, others: Iterable[str]) -> NameProblem | None:
    """Who of the others has a name that only a close look tells from this one; None if nobody has."""
    alike = sorted((other for other in others if _are_alike(other, name)), key=lambda other: (other != name, other))
    if not alike:
        return None
    message = Message("another account already has the name {name}: {other}", name=name, other=alike[0])
    hint = Message(
        "use the name {other}, or ask an admin to give it free with `aisbench people release`", other=alike[0]
    )
    return NameProblem(message, None if alike[0] == name else hint)


def _are_alike(one: str, other: str) -> bool:
    return _fold_name(one) == _fold_name(other) or _fold_lookalikes(one) == _fold_lookalikes(other)


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().translate(_DRAWN_ALIKE).translate(_PHONETIC)


def _fold_lookalikes(name: str) -> str:
    return _fold_name(unicodedata.normalize("NFKC", name).translate(_DRAWN_LIKE_CAPITALS))


def _system_problem(name: str) -> NameProblem | None:
    if any(_is_of_system(each) for each in (name, _fold_name(name), _fold_lookalikes(name))):
        return NameProblem(Message("the name {name} is reserved for the system", name=name))
    return None


def _is_of_system(name: str) -> bool:
    try:
        return pwd.getpwnam(name).pw_uid < FIRST_PERSON
    except (KeyError, ValueError):
        return False
