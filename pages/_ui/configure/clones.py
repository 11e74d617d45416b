"""Clones: the button that makes a draft of a run, and how that draft differs from the run."""

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.model import FieldDifference, RunSpec, find_differences, unknown_fields
from aisbench_core.running.reproducing.values import Original
from pages._ui.configure import drafts
from pages._ui.shell import navigation
from pages._ui.shell.core import core, is_allowed
from pages._ui.shell.errors import escape_markdown, show_error, show_sentence
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

VISIBLE = 7  # differences that are visible at a time: the form below is what a person works with


def show_clone_button(run_id: str, *, key: str, label: str = "") -> None:
    """A button that makes a draft of a run, and leads to it, for who may launch."""
    if is_allowed("Runs.launch") and st.button(
        label or t("clone.button"), key=f"clone-{key}", icon=":material/content_copy:"
    ):
        try:
            original = core().clones.original(run_id)
            selection = {"draft": drafts.clone(original)}
        except AisbenchError as error:
            show_error(error)
            return
        if original.profile in core().regions.names():
            selection["profile"] = original.profile
        navigation.open_page(navigation.CONFIGURE, selection)


def show_difference(draft: drafts.SpecDraft, profile: str) -> None:
    """How the draft differs from its run; nothing for a draft that is no clone."""
    run_id = drafts.original_id()
    if not run_id:
        return
    try:
        original = core().clones.original(run_id)
    except AisbenchError as error:
        show_sentence(error)
        return
    with st.container(border=True, key="clone"):
        _show_changes(original, draft, profile)


def _show_changes(original: Original, draft: drafts.SpecDraft, profile: str) -> None:
    changes = _list_changes(original, draft.spec, profile) if draft.spec else ()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        navigation.link_page(
            navigation.LIVE, t("clone.of", run=escape_markdown(original.run_id)), {"run": original.run_id}
        )
        if changes or draft.spec is None:
            label, args = t("clone.reset"), (original,)
            st.button(label, key="reset", icon=":material/undo:", on_click=drafts.reset_to_original, args=args)
    if changes:
        st.markdown(t("clone.differs", count=len(changes)))
        titles = {"field": t("compare.field"), "original": t("clone.original"), "now": t("clone.now")}
        show_table([_to_row(change) for change in changes], titles, t("clone.table"), visible=VISIBLE)
    elif draft.spec:
        st.markdown(t("clone.same"))
    unknown = unknown_fields(original.known)
    if unknown:
        fields = ", ".join(escape_markdown(t.field(name)) for name in unknown)
        with st.expander(t("clone.not_known", count=len(unknown))):
            st.markdown(t("clone.not_known_help", fields=fields))


def _list_changes(original: Original, spec: RunSpec, profile_name: str) -> tuple[FieldDifference, ...]:
    """How a launch from here would differ from the run's; both with what the manifest and the profile fill in."""
    if not profile_name:
        return find_differences(original.spec, spec, original.known)
    profile = core().regions.profile(profile_name)
    filled = subject_of(spec, profile, core().workloads).spec
    moved = original.profile not in ("", profile_name)
    profiles = (FieldDifference("profile", original.profile, profile_name),) if moved else ()
    return profiles + find_differences(original.spec, filled, original.known)


def _to_row(change: FieldDifference) -> dict[str, str]:
    head, _, parameter = change.field.partition(".")  # parameters have no other name in the form
    name = parameter if head == "parameters" else t.field(change.field)
    return {
        "field": name,
        "original": _format_value(change.original),
        "now": _format_value(change.now),
    }


def _format_value(value: object) -> str:
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)
