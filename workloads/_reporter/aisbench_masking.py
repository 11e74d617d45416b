"""Mask what looks like a secret, for aisbench_passport.py: on Python 3.7 and later."""

from __future__ import annotations

import math
import re

MASK = "***"

_MOST_VALUE = 4096  # characters that are looked at

# What looks like a secret, as the console's preflight has it.
_CERTAIN_NAME = re.compile(
    r"secret|passw|passphrase|credential|(access|api|private|encryption|signing)_?key|_pwd$|(^|_)(ak|sk|pat|token|auth)$",
    re.IGNORECASE,
)
_LIKELY_NAME = re.compile(r"key(?!board|word|frame|point)|token(?!iz)", re.IGNORECASE)
_HARMLESS = re.compile(r"[-+]?[\d.,:]+([eE][-+]?\d+)?|true|false|yes|no|on|off|none|(\.{0,2}/|~/|[a-z0-9]+://).*", re.I)
_ACCESS_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Z])[A-Z0-9]{20}")
_SECRET_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9]{40}")
_TOKEN_FORM = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
    r"|^(Bearer|Basic) \S|^(gh[a-z]_|github_pat_|glpat-|hf_)\w{16}|^(sk-|xox[abprs]-|AKIA)[\w-]{16}"
    r"|^eyJ[\w-]{8,}\.[\w-]{8,}\."
)
_MIXED = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+=_-]{32,}")
# Further forms, which a spec has not: addresses with a user or a signed query, and what follows in a line.
_ADDRESS = re.compile(
    r"://[^/\s@]+@|[?&][\w.-]{0,40}?(token|key|sig|signature|secret|password|credential)[\w.-]{0,40}=", re.IGNORECASE
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+\S.*")
_KEY = re.compile(
    r"(?<![\w.-])([\w.-]{1,200})[\"']?[ \t]{0,20}[:=][ \t]{0,20}|(?<!\S)--?([A-Za-z][\w-]{0,200})[ \t]{1,20}(?=[^-\s])"
)
_SWITCH = re.compile(r"true|false|yes|no|on|off|none|null", re.IGNORECASE)
_WORD = re.compile(r"[^\s\"',;(){}\[\]<>]+")


def mask_text(text: str) -> tuple[str, int]:
    """The text without what looks like secrets, and in how many lines there were some."""
    lines, masked, inside, is_pem = [], 0, -1, False
    for line in text.splitlines(True):
        indent = len(line) - len(line.lstrip())
        if is_pem or (inside >= 0 and line.strip() and indent > inside):  # goes on in further lines
            is_pem = is_pem and "-----END" not in line
            lines.append(f"{line[:indent]}{MASK}\n")
            masked += 1
            continue
        inside = inside if not line.strip() else -1
        shown, is_named = _mask_line(line)
        is_pem = "-----BEGIN" in line and "-----END" not in line
        inside = indent if is_named else inside
        lines.append(shown)
        masked += shown != line
    return "".join(lines), masked


def _mask_line(line: str) -> tuple[str, bool]:
    """A line without its secrets, and whether a name says that one follows."""
    end = "\n" if line.endswith("\n") else ""
    for match in _KEY.finditer(line):
        name, rest = (match.group(1) or match.group(2)).replace("-", "_").replace(".", "_"), line[match.end() :]
        value = rest.strip().rstrip(",").strip("\"'")
        if _CERTAIN_NAME.search(name) and not _SWITCH.fullmatch(value):
            return line[: match.end()] + MASK + end, True
        if _LIKELY_NAME.search(name) and value and not _HARMLESS.fullmatch(value.split(",")[0].strip("\"' }")):
            return line[: match.end()] + MASK + end, False
    line = _BEARER.sub(MASK, line.rstrip("\n")) + end
    return _WORD.sub(lambda match: MASK if holds_secret("", match.group()) else match.group(), line), False


def holds_secret(name: str, value: str) -> bool:
    """Whether it is one, or has one in it."""
    parts = [value, *re.split(r"[\s=:,;|\"']+", value)]
    return looks_secret(name, value) or any(looks_secret("", part) for part in parts[:256])


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable, argument or entry of this name holds a secret."""
    if not value:
        return False
    if _CERTAIN_NAME.search(name) or (_LIKELY_NAME.search(name) and not _HARMLESS.fullmatch(value)):
        return True
    return _has_secret_form(value[:_MOST_VALUE])


def _has_secret_form(text: str) -> bool:
    if _ACCESS_KEY.fullmatch(text) or _SECRET_KEY.fullmatch(text) or _TOKEN_FORM.search(text) or _ADDRESS.search(text):
        return True
    if not _MIXED.fullmatch(text) or len(re.findall(r"\d+", text)) < 3 or re.search(r"[a-z]{5}|[A-Z]{5}", text):
        return False
    shares = [text.count(letter) / len(text) for letter in set(text)]
    return -sum(share * math.log2(share) for share in shares) >= 4.0
