"""Tags and note of a run: as chips and text, and a small form that changes them."""

from datetime import datetime
from functools import partial

import streamlit as st

from aisbench_core.errors import AisbenchError, StaleRun
from aisbench_core.model import Remarks
from pages._ui.shell import widgets
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain, show_sentence
from pages._ui.shell.formats import when
from pages._ui.shell.words import words

TAGS, NOTE = "remark-tags", "remark-note"
SAID = "remarks-said"
"""What came of the last click, once: an error of ours, or nothing."""

SEEN = "remarks-seen"
"""The run whose form stands on the page, its tags, and when its note was written, as the person saw them."""


def show_remarks(run_id: str) -> None:
    """What people remarked of the run, and how to change it."""
    t = words()
    with errors_shown():
        known = core().remarks.of(run_id)
        with st.container(horizontal=True, vertical_alignment="center", key="remarks"):
            show_tags(known.tags)
            with st.popover(t("annotations.edit"), icon=":material/sell:"):
                _form(run_id, known)
        _say()
        if known.noted and known.note:
            st.markdown("  \n".join(plain(line) for line in known.note.split("\n")))
            st.caption(t("annotations.noted", who=plain(known.noted.who), at=when(known.noted.at)))


def show_tags(tags: tuple[str, ...]) -> None:
    """Each tag as a chip."""
    for tag in tags:
        st.markdown(f":gray-badge[:material/sell: {plain(tag)}]")  # st.badge would escape brackets a second time


def _form(run_id: str, known: Remarks) -> None:
    t = words()
    if st.session_state.get(SEEN, ("",))[0] != run_id:
        _begin(run_id, known)
    tags, note = (widgets.field(each, st.session_state[_typed(each)], partial(_type, each)) for each in (TAGS, NOTE))
    st.text_input(t("annotations.tags"), help=t("annotations.tags_help"), **tags)
    st.text_area(t("annotations.note"), help=t("annotations.note_help"), height=140, **note)
    st.button(t("annotations.save"), key="remark-save", type="primary", on_click=_save, args=(run_id,))


def _begin(run_id: str, known: Remarks) -> None:
    """Fill the form with what is known now; from here on it is compared with what others write."""
    st.session_state[SEEN] = (run_id, known.tags, known.noted.at if known.noted else None)
    _type(TAGS, ", ".join(known.tags))
    _type(NOTE, known.note)


def _type(name: str, text: str) -> None:
    st.session_state[_typed(name)] = text


def _typed(name: str) -> str:
    """Where the session has what stands in a field."""
    return f"{name}-typed"


def _say() -> None:
    said: AisbenchError | None = st.session_state.pop(SAID, None)
    if said:
        show_sentence(said)


@whole
def _save(run_id: str) -> None:
    """Only what the person changed is stored: tags that others added meanwhile stay."""
    seen: tuple[str, tuple[str, ...], datetime | None] = st.session_state[SEEN]
    typed = {part.strip() for part in st.session_state[_typed(TAGS)].split(",") if part.strip()}
    text: str = st.session_state[_typed(NOTE)]
    book = core().remarks
    try:
        book.tag(run_id, typed - set(seen[1]), set(seen[1]) - typed, WHO)
        book.note(run_id, text, WHO, seen[2])
    except StaleRun as error:
        now = book.of(run_id)
        _begin(run_id, now)
        _type(NOTE, text)  # the person's own words stay in the field
        st.session_state[SAID] = error
        return
    except AisbenchError as error:
        st.session_state[SAID] = error
        return
    _begin(run_id, book.of(run_id))
