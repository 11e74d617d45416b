"""A launch is confirmed for what its question showed: had the draft changed since, something else would be launched."""

from hashlib import sha256

import streamlit as st

from aisbench_core.authoring.rules import subject_of
from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.model import RunSpec
from pages._ui.configure import drafts
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import core
from pages._ui.shell.words import words

SHOWN = "question-shown"
"""Where the open question keeps its token, and the digest of what it showed when it was opened."""

CONFIRMED = "question-confirmed"
"""The digest of what was on screen when the button was pressed."""


def digest(spec: RunSpec, profile: str, *more: str) -> str:
    """Stands for all that a question shows: the spec as it would be sent, where to, and the code as it is now."""
    place = core().regions.profile(profile)
    subject = subject_of(spec, place, core().workloads)
    parts = (to_yaml(subject.spec), place.model_dump_json(), str(subject.code.entries), str(subject.code.size), *more)
    return sha256("\0".join(parts).encode()).hexdigest()


def show_change(token: str, shown: str) -> None:
    """Say that the question shows something else than when it was opened."""
    asked, first = st.session_state.get(SHOWN, ("", ""))
    if asked != token:
        st.session_state[SHOWN] = (token, shown)
    elif first != shown:
        st.warning(words()("launch.changed"), icon=":material/edit:")


def confirmed(key: str, spec: RunSpec, profile: str, shown: str, *more: str) -> bool:
    """The button that launches, and whether it was pressed for what is stored; if not, the page shows what is now."""
    pressed = st.button(
        words()("launch.confirm"),
        key=key,
        type="primary",
        icon=":material/rocket_launch:",
        width="stretch",
        on_click=_confirm,
        args=(shown,),
    )
    if not pressed:
        return False
    now = drafts.read_draft().spec
    same: bool = now == spec and st.session_state.pop(CONFIRMED, "") == digest(spec, profile, *more)
    if not same:
        st.rerun()
    return same


@whole
def _confirm(shown: str) -> None:
    st.session_state[CONFIRMED] = shown
