"""A draft that was made of a run: the button that makes it, and what has become of it since."""

import streamlit as st

from aisbench_core.authoring.rules import subject_of
from aisbench_core.errors import AisbenchError
from aisbench_core.formats import MISSING
from aisbench_core.model import FieldDifference, RunSpec, differences, not_known
from aisbench_core.reproducing.values import Original
from pages._ui.configure import drafts
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain, show_error, show_sentence
from pages._ui.shell.words import Words, words

TALL = 7
"""More differences than this are scrolled: the form below is what a person works with."""


def show_clone_button(run_id: str, *, key: str, label: str = "") -> None:
    """A button that makes a draft of a run, and leads to it."""
    if st.button(label or words()("clone.button"), key=f"clone-{key}", icon=":material/content_copy:"):
        try:
            original = core().clones.original(run_id)
            draft = drafts.clone(original)
        except AisbenchError as error:
            show_error(error)
            return
        known = original.profile in core().regions.names()
        navigation.go(navigation.CONFIGURE, {"draft": draft, **({"profile": original.profile} if known else {})})


def show_difference(draft: drafts.SpecDraft, profile: str) -> None:
    """What the draft changes, if it was made of a run."""
    run_id = drafts.original_id()
    if not run_id:
        return
    try:
        original = core().clones.original(run_id)
    except AisbenchError as error:
        show_sentence(error)
        return
    with st.container(border=True, key="clone"):
        _show(original, draft, profile, words())


def _show(original: Original, draft: drafts.SpecDraft, profile: str, t: Words) -> None:
    changed = _changes(original, draft.spec, profile) if draft.spec else ()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        navigation.link(navigation.LIVE, t("clone.of", run=plain(original.run_id)), {"run": original.run_id})
        if changed or draft.spec is None:
            st.button(
                t("clone.begin_again"),
                key="begin-again",
                icon=":material/undo:",
                on_click=drafts.begin_again,
                args=(original,),
            )
    if changed:
        st.markdown(t("clone.differs", count=len(changed)))
        _table(changed, t)
    elif draft.spec:
        st.markdown(t("clone.same"))
    unknown = not_known(original.known)
    if unknown:
        fields = ", ".join(plain(t.field(name)) for name in unknown)
        with st.expander(t("clone.not_known", count=len(unknown))):
            st.markdown(t("clone.not_known_help", fields=fields))


def _changes(original: Original, spec: RunSpec, profile: str) -> tuple[FieldDifference, ...]:
    """What a launch from here would ask for, against what the run was asked for."""
    place = core().regions.profile(profile) if profile else None
    now = subject_of(spec, place, core().workloads).spec if place else spec
    moved = place is not None and original.profile not in ("", place.name)
    other = (FieldDifference("profile", original.profile, profile),) if moved else ()
    return other + differences(original.spec, now, original.known)


def _table(changed: tuple[FieldDifference, ...], t: Words) -> None:
    rows = [
        {
            t("compare.field"): _name(each.field, t),
            t("clone.original"): _text(each.original),
            t("clone.now"): _text(each.now),
        }
        for each in changed
    ]
    st.dataframe(rows, hide_index=True, alt=t("clone.table"), height="content" if len(rows) <= TALL else 38 + 35 * TALL)


def _name(field: str, t: Words) -> str:
    """`parameters.epochs` by the parameter's own name: the form has no other for it."""
    head, _, name = field.partition(".")
    return name if head == "parameters" else t.field(field)


def _text(value: object) -> str:
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)
