"""Identifies the browser of a visit, so that a draft belongs to who typed it.

One that refuses the cookie has a draft for as long as the page stays open.
"""

import secrets
from hashlib import sha256

import streamlit as st

from aisbench_core.interfaces.web.front_door import browser_id_of
from pages._ui.shell.core import core

SESSION = "browser-id"  # where a session without the cookie has its id
LOOKED_UP = "own-draft"  # for which key a session has looked for a draft that all shared


def browser_key() -> str:
    """The same for all visits of one browser, a digest, so that nobody can pose as that browser."""
    own = browser_id_of(st.context.cookies) or st.session_state.setdefault(SESSION, secrets.token_urlsafe(32))
    return sha256(own.encode()).hexdigest()[:32]


def own_draft(prefix: str, shared: str) -> str:
    """The key of this browser's draft; the first browser without one takes over the draft that all shared once."""
    key, ledger = prefix + browser_key(), core().ledger
    if st.session_state.get(LOOKED_UP) == key:  # each field of a form asks, some sixty times in a rerun
        return key
    st.session_state[LOOKED_UP] = key
    if browser_id_of(st.context.cookies) and ledger.draft(key) is None and ledger.draft(shared) is not None:
        ledger.rename_draft(shared, key)
    return key
