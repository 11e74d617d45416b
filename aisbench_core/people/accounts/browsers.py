"""Which browser and system a request names: for people who recognise their own, and for nothing else."""

import re

# The first that fits: Edge, Opera and Chrome all call themselves Safari, too.
_BROWSERS = (
    ("Edge", re.compile(r"\bEdg(e|A|iOS)?/")),
    ("Opera", re.compile(r"\bOPR/")),
    ("Firefox", re.compile(r"\b(Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(Chrome|Chromium|CriOS|HeadlessChrome)/")),
    ("Safari", re.compile(r"\bSafari/")),
)
_SYSTEMS = (
    ("Android", re.compile(r"\bAndroid\b")),
    ("iOS", re.compile(r"\b(iPhone|iPad)\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("macOS", re.compile(r"\bMacintosh\b")),
    ("Linux", re.compile(r"\b(Linux|X11)\b")),
)


def browser_of(user_agent: str) -> str:
    """Such as `Firefox, Linux`; empty for what is neither known. Nothing of the text itself is stored or shown."""
    parts = (next((name for name, form in forms if form.search(user_agent)), "") for forms in (_BROWSERS, _SYSTEMS))
    return ", ".join(filter(None, parts))
