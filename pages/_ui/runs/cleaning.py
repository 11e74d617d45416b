"""The clean-up of an ended run: the question with sizes, part by part, and what was removed."""

import streamlit as st

from aisbench_core.base.errors import ResultError
from aisbench_core.base.formats import size
from aisbench_core.model import Removal, Run, RunPart
from aisbench_core.running.cleaning.plans import CleaningPlan, RemovalItem
from pages._ui.shell.core import actor, core, may
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import plain, show_sentence
from pages._ui.shell.formats import when
from pages._ui.shell.words import t

PLAN = "clean-plan"  # where the session has what the open dialog shows; asking the region takes seconds


def _forget() -> None:
    st.session_state.pop(PLAN, None)


CLEANING = Dialog("cleaning", "medium", _forget)  # about the id of the run to clean up


def show_clean_button(run: Run) -> None:
    """A button that opens the question; the page calls `show_clean_dialog`, too."""
    if may("Cleaning.clean") and st.button(t("clean.open"), key="clean-open", icon=":material/delete_sweep:"):
        CLEANING.open(run.run_id)


def show_clean_dialog() -> None:
    """The question that the button raised, if it did; call it once a page, outside fragments."""
    CLEANING.show(t("clean.title"), _confirm)


def show_removals(run_id: str) -> None:
    """What was removed of the run, when and by whom."""
    try:
        removals = core().cleaning.removals(run_id)
    except ResultError as error:
        show_sentence(error)
        return
    ended = [removal for removal in removals if removal.ended_at]
    # Sizes and paths are in the timeline.
    if ended:
        st.caption("  \n".join(map(_removed, ended)))
    for removal in removals:
        if removal.ended_at is None:
            part, at = t(f"clean.{removal.part}"), when(removal.began_at)
            st.warning(t("clean.interrupted", part=part, at=at, who=plain(removal.who)), icon=":material/warning:")


def _removed(removal: Removal) -> str:
    return t("clean.removed", part=t(f"clean.{removal.part}"), at=when(removal.ended_at), who=plain(removal.who))


def _confirm() -> None:
    st.markdown(t("clean.about"))
    plan = _plan(CLEANING.subject)
    chosen = [part for part in RunPart if _choose(plan, part)]
    selected = plan.only(chosen)
    label = t("clean.yes", size=size(selected.size))
    if st.button(label, key="clean-yes", type="primary", icon=":material/delete:", disabled=not chosen):
        _clean(selected)
        CLEANING.leave()
    if st.button(t("clean.no"), key="clean-no"):
        CLEANING.leave()


def _plan(run_id: str) -> CleaningPlan:
    """What there is of the run, as it was when the dialog opened."""
    if PLAN not in st.session_state:
        with st.spinner(t("clean.looking")):
            st.session_state[PLAN] = core().cleaning.survey(run_id)
    plan: CleaningPlan = st.session_state[PLAN]
    return plan


def _clean(plan: CleaningPlan) -> None:
    bar = st.progress(0.0)

    def show(done: int, total: int) -> None:
        bar.progress(done / total if total else 1.0)

    core().cleaning.clean(plan, actor(), show)


def _choose(plan: CleaningPlan, part: RunPart) -> bool:
    items = plan.only([part]).items
    obstacles = plan.only([part]).obstacles
    free = bool(items) and not obstacles
    chosen = st.checkbox(t(f"clean.{part}"), key=f"clean-{part}", disabled=not free)
    for item in items:
        st.caption(_found(item))
    for obstacle in obstacles:
        st.caption(t("clean.stays", reason=plain(t.message(obstacle.reason))))
    if not items and not obstacles:
        st.caption(t("clean.nothing"))
    return chosen and free


def _found(item: RemovalItem) -> str:
    """The path, and what is below it; a job is only named."""
    path = plain(item.path)
    if item.part is RunPart.JOB:
        return path
    return t("clean.found", path=path, objects=f"{item.objects:,}", size=size(item.size))
