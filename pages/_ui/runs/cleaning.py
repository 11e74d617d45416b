"""The clean-up of an ended run: the question with sizes, part by part, and what was removed."""

import streamlit as st

from aisbench_core.base.errors import ResultError
from aisbench_core.base.formats import format_size
from aisbench_core.model import Removal, Run, RunPart
from aisbench_core.running.cleaning.plans import CleaningPlan, RemovalItem
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

PLAN = "clean-plan"  # where the session has what the open dialog shows; asking the region takes seconds


def _forget_plan() -> None:
    st.session_state.pop(PLAN, None)


CLEANING = Dialog("cleaning", "medium", _forget_plan)  # about the id of the run to clean up


def show_clean_button(run: Run) -> None:
    """A button that opens the question; the page calls `show_clean_dialog`, too."""
    if is_allowed("Cleaning.clean") and st.button(t("clean.open"), key="clean-open", icon=":material/delete_sweep:"):
        CLEANING.open(run.run_id)


def show_clean_dialog() -> None:
    """The question that the button raised, if it did; call it once a page, outside fragments."""
    CLEANING.show(t("clean.title"), _show_confirmation)


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
        st.caption("  \n".join(map(_describe_removal, ended)))
    for removal in removals:
        if removal.ended_at is None:
            part, at = t(f"clean.{removal.part}"), format_time(removal.began_at)
            st.warning(
                t("clean.interrupted", part=part, at=at, who=escape_markdown(removal.who)), icon=":material/warning:"
            )


def _describe_removal(removal: Removal) -> str:
    return t(
        "clean.removed",
        part=t(f"clean.{removal.part}"),
        at=format_time(removal.ended_at),
        who=escape_markdown(removal.who),
    )


def _show_confirmation() -> None:
    st.markdown(t("clean.about"))
    plan = _get_plan(CLEANING.subject)
    chosen = [part for part in RunPart if _choose_part(plan, part)]
    selected = plan.only(chosen)
    label = t("clean.yes", size=format_size(selected.size))
    if st.button(label, key="clean-yes", type="primary", icon=":material/delete:", disabled=not chosen):
        _clean_run(selected)
        CLEANING.leave()
    if st.button(t("clean.no"), key="clean-no"):
        CLEANING.leave()


def _get_plan(run_id: str) -> CleaningPlan:
    """What there is of the run, as it was when the dialog opened."""
    if PLAN not in st.session_state:
        with st.spinner(t("clean.looking")):
            st.session_state[PLAN] = core().cleaning.survey(run_id)
    plan: CleaningPlan = st.session_state[PLAN]
    return plan


def _clean_run(plan: CleaningPlan) -> None:
    bar = st.progress(0.0)

    def show(done: int, total: int) -> None:
        bar.progress(done / total if total else 1.0)

    core().cleaning.clean(plan, actor(), show)


def _choose_part(plan: CleaningPlan, part: RunPart) -> bool:
    items = plan.only([part]).items
    obstacles = plan.only([part]).obstacles
    free = bool(items) and not obstacles
    chosen = st.checkbox(t(f"clean.{part}"), key=f"clean-{part}", disabled=not free)
    for item in items:
        st.caption(_describe_item(item))
    for obstacle in obstacles:
        st.caption(t("clean.stays", reason=escape_markdown(t.message(obstacle.reason))))
    if not items and not obstacles:
        st.caption(t("clean.nothing"))
    return chosen and free


def _describe_item(item: RemovalItem) -> str:
    """The path, and what is below it; a job is only named."""
    path = escape_markdown(item.path)
    if item.part is RunPart.JOB:
        return path
    return t("clean.found", path=path, objects=f"{item.objects:,}", size=format_size(item.size))
