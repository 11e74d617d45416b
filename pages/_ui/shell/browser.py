"""Which browser a visit comes from, so that a draft belongs to who typed it.

Whoever refuses the cookie has a draft for as long as the page stays open.
"""

import secrets
from hashlib import sha256

import streamlit as st

from aisbench_core.web.browser_cookie import COOKIE, ID
from pages._ui.shell.core import core

SESSION = "browser-id"
"""Where a session without the cookie has its id."""


def browser_key() -> str:
    """The same for all visits of one browser, and of no other; the id itself cannot be read from it."""
    own = _cookie_id() or st.session_state.setdefault(SESSION, secrets.token_urlsafe(32))
    return sha256(own.encode()).hexdigest()[:32]


def _cookie_id() -> str:
    """The id that the page's browser sends; empty if it sends none that we gave."""
    found = str(st.context.cookies.get(COOKIE, ""))
    return found if ID.fullmatch(found) else ""


def own_draft(prefix: str, shared: str) -> str:
    """The key of a draft of this browser. The first browser that has none takes over the one that all shared once."""
    key, ledger = prefix + browser_key(), core().ledger
    if _cookie_id() and ledger.draft(key) is None and ledger.draft(shared) is not None:
        ledger.rename_draft(shared, key)
    return key
