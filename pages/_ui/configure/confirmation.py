"""What launch dialogs share: the region's findings, and a button that launches exactly what the dialog showed."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import TypeVar

import streamlit as st

from aisbench_core.base.errors import CloudUnavailable
from aisbench_core.domain.authoring.specfile import to_yaml
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.model import Finding, RunSpec
from pages._ui.configure import drafts
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

Item = TypeVar("Item")

# Where the session has what the region said last, the token of the dialog that it said it for, and about what.
FINDINGS = "region-findings"

# Where the session has the token of the open dialog, and the digest of what it showed when it was opened.
OPENED = "dialog-opened"

CONFIRMED = "dialog-confirmed"  # where the session has the digest of what was on screen when the button was pressed


def ask_region(token: str, check: Callable[[], Iterable[Item]], subject: str = "") -> tuple[Item, ...]:
    """What the region finds before anything is sent, asked once per token: a dialog is drawn again at every click.

    `subject` identifies what is checked, for `found_before`. A region that does not answer now does not block a
    launch, because the follower retries."""
    answered, _, findings = st.session_state.get(FINDINGS, ("", "", ()))
    if answered == token:
        return tuple(findings)
    try:
        with st.spinner(t("launch.checking")):
            findings = tuple(check())
    except CloudUnavailable as error:
        st.warning(t("launch.unreachable", reason=escape_markdown(t.message(error.message))), icon=":material/warning:")
        return ()
    st.session_state[FINDINGS] = (token, subject, findings)
    return findings


def found_before(subject: str) -> tuple[Finding, ...]:
    """What the region found wrong with this subject when it was asked last: it stays wrong until asked again."""
    _, last, findings = st.session_state.get(FINDINGS, ("", "", ()))
    return tuple(findings) if last == subject else ()


def compute_digest(spec: RunSpec, profile: str, *more: str) -> str:
    """Identifies all that a dialog shows: the spec as it would be sent, where to, and the code as it is now."""
    region = core().regions.profile(profile)
    subject = subject_of(spec, region, core().workloads)
    parts = (to_yaml(subject.spec), region.model_dump_json(), str(subject.code.entries), str(subject.code.size), *more)
    return sha256("\0".join(parts).encode()).hexdigest()


def show_change(token: str, shown: str) -> None:
    """A warning where the dialog shows something else than when it was opened."""
    opened, first = st.session_state.get(OPENED, ("", ""))
    if opened != token:
        st.session_state[OPENED] = (token, shown)
    elif first != shown:
        st.warning(t("launch.changed"), icon=":material/edit:")


def show_confirm_button(key: str, spec: RunSpec, profile: str, shown: str, *more: str) -> bool:
    """The button that launches, and whether it was pressed for the draft as it is stored now.

    Had the draft changed in another window meanwhile, nothing is launched, and the page is drawn anew."""
    pressed = st.button(
        t("launch.confirm"),
        key=key,
        type="primary",
        icon=":material/rocket_launch:",
        width="stretch",
        on_click=_store_confirmation,
        args=(shown,),
    )
    if not pressed:
        return False
    now = drafts.read_draft().spec
    same: bool = now == spec and st.session_state.pop(CONFIRMED, "") == compute_digest(spec, profile, *more)
    if not same:
        st.rerun()
    return same


@repeat_if_aborted
def _store_confirmation(shown: str) -> None:
    st.session_state[CONFIRMED] = shown
