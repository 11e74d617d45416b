"""Name, tags and note of a run: as chips and text, and small forms that change them or set the run aside."""

from datetime import datetime
from functools import partial

import streamlit as st

from aisbench_core.base.errors import StaleRun
from aisbench_core.model import AnnotationChange, Annotations
from aisbench_core.model.annotation import MAX_REASON
from pages._ui.shell import widgets
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.outcomes import report_outcome, show_outcome
from pages._ui.shell.words import t

NAME, TAGS, NOTE = "annotation-name", "annotation-tags", "annotation-note"
OUTCOME = "annotation-outcome"
REASON = "set-aside-reason"

BASE = "annotation-base"  # what the form was filled with: the run's id, name and tags, and when its note was written


def show_annotation_form(run_id: str, annotations: Annotations) -> None:
    """The run's tags, and the button behind which tags and note are changed."""
    with st.container(horizontal=True, vertical_alignment="center", key="annotations", width="content"):
        show_tags(annotations.tags)
        if not is_allowed("AnnotationService.tag"):
            return
        with st.popover(t("annotations.edit"), icon=":material/sell:", type="tertiary"):
            if st.session_state.get(BASE, ("",))[0] != run_id:
                _fill_form(run_id, annotations)
            _show_form(run_id)
        if not annotations.set_aside and is_allowed("AnnotationService.set_aside"):
            with st.popover(t("set_aside.open"), icon=":material/do_not_disturb_on:", type="tertiary"):
                _show_reason_form(run_id)


def show_set_aside(run_id: str, change: AnnotationChange) -> None:
    """That the run was set aside, by whom and why, with the button that lets it count again."""
    with errors_shown(), st.container(horizontal=True, vertical_alignment="center", key="set-aside"):
        facts = {"who": change.who, "reason": change.text}
        said = t("set_aside.said", at=format_time(change.at), **{k: escape_markdown(v) for k, v in facts.items()})
        st.warning(said, icon=":material/do_not_disturb_on:")
        if is_allowed("AnnotationService.count_again"):
            st.button(t("set_aside.undo"), key="count-again", on_click=_count_again, args=(run_id,))


def show_note(run_id: str, annotations: Annotations) -> None:
    """What became of the last change, and the run's note."""
    with errors_shown():
        show_outcome(OUTCOME)
        if annotations.set_aside:
            show_set_aside(run_id, annotations.set_aside)
        last_note = annotations.last_note
        if last_note and annotations.note:
            st.markdown("  \n".join(escape_markdown(line) for line in annotations.note.split("\n")))
            st.caption(t("annotations.noted", who=escape_markdown(last_note.who), at=format_time(last_note.at)))


def show_tags(tags: tuple[str, ...]) -> None:
    """Each tag as a chip."""
    for tag in tags:
        st.markdown(
            f":gray-badge[:material/sell: {escape_markdown(tag)}]"
        )  # st.badge would escape brackets a second time


def _show_form(run_id: str) -> None:
    name, tags, note = (
        widgets.bind_field(key, st.session_state[_build_typed_key(key)], partial(_type_text, key))
        for key in (NAME, TAGS, NOTE)
    )
    st.text_input(t("annotations.name"), help=t("annotations.name_help"), **name)
    st.text_input(t("annotations.tags"), help=t("annotations.tags_help"), **tags)
    st.text_area(t("annotations.note"), help=t("annotations.note_help"), height=140, **note)
    st.button(t("annotations.save"), key="annotation-save", type="primary", on_click=_save_annotations, args=(run_id,))


def _show_reason_form(run_id: str) -> None:
    st.caption(t("set_aside.help"))
    with st.form("set-aside-form", border=False):
        st.text_input(t("set_aside.reason"), key=REASON, max_chars=MAX_REASON, placeholder=t("set_aside.example"))
        st.form_submit_button(t("set_aside.act"), type="primary", on_click=_set_aside, args=(run_id,))


@report_outcome(OUTCOME)
def _set_aside(run_id: str) -> None:
    core().annotations.set_aside(run_id, st.session_state[REASON], actor())
    st.session_state[REASON] = ""


@report_outcome(OUTCOME)
def _count_again(run_id: str) -> None:
    core().annotations.count_again(run_id, actor())


def _fill_form(run_id: str, annotations: Annotations) -> None:
    """Fill the form, and remember with what: what others write from here on is not overwritten."""
    noted_at = annotations.last_note.at if annotations.last_note else None
    st.session_state[BASE] = (run_id, annotations.name, annotations.tags, noted_at)
    _type_text(NAME, annotations.name)
    _type_text(TAGS, ", ".join(annotations.tags))
    _type_text(NOTE, annotations.note)


def _type_text(key: str, text: str) -> None:
    st.session_state[_build_typed_key(key)] = text


def _build_typed_key(key: str) -> str:
    """Where the session has the text of a field: Streamlit drops the value of a widget that is not drawn."""
    return f"{key}-typed"


@report_outcome(OUTCOME)
def _save_annotations(run_id: str) -> None:
    """Store only what the person changed: a name and tags that others gave meanwhile stay."""
    base: tuple[str, str, tuple[str, ...], datetime | None] = st.session_state[BASE]
    _, name, tags, noted_at = base
    typed = {part.strip() for part in st.session_state[_build_typed_key(TAGS)].split(",") if part.strip()}
    text: str = st.session_state[_build_typed_key(NOTE)]
    annotations = core().annotations
    try:
        if st.session_state[_build_typed_key(NAME)] != name:
            annotations.rename(run_id, st.session_state[_build_typed_key(NAME)], actor())
        annotations.tag(run_id, typed - set(tags), set(tags) - typed, actor())
        annotations.note(run_id, text, actor(), noted_at)
    except StaleRun:
        _fill_form(run_id, annotations.of(run_id))
        _type_text(NOTE, text)  # the person's own words stay in the field
        raise
    _fill_form(run_id, annotations.of(run_id))
