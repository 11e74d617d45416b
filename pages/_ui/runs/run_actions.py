"""What can be done with the runs that are ticked in a table: compare, run again, tag, pin, stop, collect, delete."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.model import Run, RunState
from aisbench_core.model.annotation import PINNED
from aisbench_core.warehouse.values.compared import MAX_COMPARED, MIN_COMPARED
from pages._ui.configure.clones import show_clone_button
from pages._ui.grid.action_bar import create_action_bar
from pages._ui.grid.table import clear_ticks
from pages._ui.runs.deleting import show_delete_button, show_delete_question
from pages._ui.runs.reproduce import show_reproduce_button
from pages._ui.shell import navigation
from pages._ui.shell.core import actor, core, is_allowed, ledger_answer, right_to
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.outcomes import report_outcome
from pages._ui.shell.words import t

OUTCOME = "run-actions"  # for `show_outcome`
TAG = "tag-ticked"
ICONS = {"tag": ":material/sell:", "stop": ":material/front_hand:", "collect": ":material/download:"}

STOPPING = Dialog("stopping-ticked")  # about the ids of the runs to stop


def show_actions(key: str, run_ids: Sequence[str], runs: Sequence[Run] = ()) -> None:
    """The bar for these rows of the table `key`; nothing while none is ticked. `runs`: those of the ledger.

    The page calls `show_questions`, too."""
    if not run_ids:
        return
    with create_action_bar(key, len(run_ids)):
        _show_compare(run_ids)
        if len(run_ids) == 1:
            _show_again(run_ids[0])
        if is_allowed("AnnotationService.tag"):
            _show_tagging(key, run_ids)
            _show_pin(key, runs)
        _show_stop([run for run in runs if run.can_stop])
        kept = [run for run in runs if not ledger_answer(core().deletions.find, run.run_id)]
        _show_collect([run for run in kept if run.can_collect_again])
        show_delete_button([run.run_id for run in kept if run.state.is_terminal], key="ticked")


def _show_again(run_id: str) -> None:
    if core().ledger.has(run_id):  # and was launched here
        show_reproduce_button(run_id, is_primary=False)
    show_clone_button(run_id, key="ticked")


def show_questions() -> None:
    """The question that the bar raised, if it did; once a page, outside fragments."""
    STOPPING.show(t("runs.stop_title"), _confirm_stop)
    show_delete_question()


def _show_compare(run_ids: Sequence[str]) -> None:
    if MIN_COMPARED <= len(run_ids) <= MAX_COMPARED:
        navigation.link_page(navigation.COMPARE, t("run_actions.compare"), {"ids": list(run_ids)})
    else:
        st.button(t("run_actions.compare"), key="compare-ticked", disabled=True, help=t("board.compare_hint"),
            icon=navigation.ICONS[navigation.COMPARE])  # fmt: skip


def _show_tagging(key: str, run_ids: Sequence[str]) -> None:
    with st.popover(t("run_actions.tag"), icon=ICONS["tag"]):
        st.text_input(t("annotations.tags"), key=TAG, help=t("annotations.tags_help"))
        args = (key, tuple(run_ids))
        with st.container(horizontal=True):
            st.button(t("run_actions.add_tags"), key="tag-ticked-add", type="primary", on_click=_add_tags, args=args)
            st.button(t("run_actions.remove_tags"), key="tag-ticked-remove", on_click=_remove_tags, args=args)


def _show_pin(key: str, runs: Sequence[Run]) -> None:
    """Of runs in the list of runs; the tag of all that are ticked is set, or removed if all have it."""
    if not runs:
        return
    run_ids = tuple(run.run_id for run in runs)
    tags = core().annotations.of_runs(runs)
    is_pinned = all(PINNED in tags[run_id].tags for run_id in run_ids)
    label, icon = (t("pin.remove"), ":material/keep_off:") if is_pinned else (t("pin.add"), ":material/keep:")
    st.button(
        label, key="pin-ticked", icon=icon, on_click=_change_pins, args=(key, run_ids), kwargs={"is_pinned": is_pinned}
    )


@report_outcome(OUTCOME)
def _change_pins(key: str, run_ids: Sequence[str], *, is_pinned: bool) -> None:
    for run_id in run_ids:
        core().annotations.tag(run_id, () if is_pinned else (PINNED,), (PINNED,) if is_pinned else (), actor())
    clear_ticks(key)


@report_outcome(OUTCOME)
def _add_tags(key: str, run_ids: Sequence[str]) -> str | None:
    tags = _take_tags()
    if not tags:
        return None
    for run_id in run_ids:
        core().annotations.tag(run_id, tags, (), actor())
    clear_ticks(key)
    return t("run_actions.tagged", tags=escape_markdown(", ".join(sorted(tags))), count=len(run_ids))


@report_outcome(OUTCOME)
def _remove_tags(key: str, run_ids: Sequence[str]) -> str | None:
    tags = _take_tags()
    if not tags:
        return None
    had = [run_id for run_id in run_ids if tags & {*core().annotations.of(run_id).tags}]
    for run_id in had:
        core().annotations.tag(run_id, (), tags, actor())
    clear_ticks(key)
    return t("run_actions.untagged", tags=escape_markdown(", ".join(sorted(tags))), count=len(had))


def _take_tags() -> set[str]:
    """What is typed, which is used once."""
    typed = str(st.session_state.get(TAG, ""))
    st.session_state[TAG] = ""
    return {part.strip() for part in typed.split(",") if part.strip()}


def _show_stop(runs: Sequence[Run]) -> None:
    """Who may not stop one of them, may stop none: the bar acts on all that is ticked."""
    if not runs:
        return
    rights = [right_to("Runs.stop", run.created_by) for run in runs]
    refused = next((right for right in rights if not right.is_given), None)
    help_text = refused.help_text if refused else None
    if st.button(t("runs.stop"), key="stop-ticked", icon=ICONS["stop"], disabled=refused is not None, help=help_text):
        STOPPING.open(tuple(run.run_id for run in runs))


def _confirm_stop() -> None:
    runs = [core().ledger.get(run_id) for run_id in STOPPING.subject]
    names = core().run_names.of(runs)
    for run in runs:
        st.markdown(f"**{escape_markdown(f'{names[run.run_id]} · {run.run_id}')}**")
        text_key = "runs.give_up_question" if run.can_give_up else "runs.stop_question"
        st.markdown(t(text_key, state=t(f"state.{run.state}")))
    if st.button(t("runs.stop_yes"), key="stop-yes", type="primary", icon=ICONS["stop"]):
        for run in runs:
            core().runs.stop(run.run_id, actor())
        STOPPING.leave()
    if st.button(t("runs.stop_no"), key="stop-no"):
        STOPPING.leave()


def _show_collect(runs: Sequence[Run]) -> None:
    if not runs or not is_allowed("Runs.collect_again"):
        return
    args = (tuple(run.run_id for run in runs if run.state is RunState.FAILED),)
    st.button(t("runs.collect_again"), key="collect-ticked", icon=ICONS["collect"], on_click=_collect_again, args=args)


@report_outcome(OUTCOME)
def _collect_again(run_ids: Sequence[str]) -> str | None:
    for run_id in run_ids:
        core().runs.collect_again(run_id, actor())
    return t("run_actions.collecting", count=len(run_ids))
