"""The parts of a run's card: its state, facts, progress, and the buttons that stop it or collect it again."""

from collections.abc import Mapping, Sequence
from typing import Literal

import streamlit as st

from aisbench_core.model import LINE, AlertKind, Progress, Run, RunState
from pages._ui.cards.job_details import alert_kind
from pages._ui.shell import navigation
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

Colour = Literal["green", "red", "gray", "orange", "blue"]

# Badge colours; every other state is on its way and blue.
COLOURS: dict[RunState, Colour] = {
    RunState.COMPLETED: "green",
    RunState.FAILED: "red",
    RunState.HELD: "orange",
    RunState.STOPPED: "gray",
    RunState.STOPPING: "orange",
}

# A sign beside the colour, for those who do not see it.
MARKS = {
    RunState.COMPLETED: ":material/check_circle:",
    RunState.FAILED: ":material/cancel:",
    RunState.HELD: ":material/approval:",
    RunState.STOPPED: ":material/stop_circle:",
    RunState.STOPPING: ":material/front_hand:",
}

# The same for a browser's tab, which shows text only.
TAB_MARKS = {
    RunState.HELD: "‖",
    RunState.COMPLETED: "✓",
    RunState.FAILED: "✗",
    RunState.STOPPED: "■",
    RunState.STOPPING: "■",
}

STOPPING = Dialog("stopping")  # about the id of the run to stop


def state_badge(run: Run) -> None:
    """The run's state as a coloured word with a sign."""
    mark, colour = MARKS.get(run.state, ":material/pending:"), COLOURS.get(run.state, "blue")
    st.badge(t(f"state.{run.state}"), icon=mark, color=colour)


def run_titles(runs: Sequence[Run]) -> Mapping[str, str]:
    """The names of runs with their ids, by id."""
    return {run_id: f"{name} · {run_id}" for run_id, name in core().run_names.of(runs).items()}


def run_title(run: Run) -> str:
    """Its name and its id."""
    return run_titles([run])[run.run_id]


def tab_title(run: Run) -> str:
    """Its state as a sign and its name; without one, what it is and nodes × cards: `✓ resnet50 8×8`."""
    spec, name = run.spec, core().annotations.of(run.run_id).name
    mark = "⚠" if alert_kind(run) in (AlertKind.HANG, AlertKind.STALLED) else TAB_MARKS.get(run.state, "▶")
    return f"{mark} {name or f'{spec.name or spec.workload} {spec.node_count}×{spec.cards_per_node}'}"


def run_facts(run: Run) -> str:
    """One line: what, where and how large."""
    size = t("runs.size", nodes=run.spec.node_count, cards=run.spec.cards_per_node)
    return " · ".join(part for part in (run.spec.workload, run.spec.framework_version, run.profile, size) if part)


def show_detail(run: Run) -> None:
    """The run's detail; a fault after which it is retried is marked as such."""
    if run.is_retrying:
        problem = escape_markdown(t.message(run.detail))
        st.warning(t("live.retrying", attempts=run.attempts, detail=problem), icon=":material/autorenew:")
    elif run.state is RunState.FAILED:
        st.error(escape_markdown(why_failed(run)) or t("state.failed"), icon=":material/cancel:")
    elif run.detail:
        st.markdown(escape_markdown(t.message(run.detail)))


def why_failed(run: Run) -> str:
    """The diagnosed cause of a failed run, where there is one that is at least likely, else what its job said last."""
    return t.message(core().causes.sentence_here(run) or run.detail)


def show_line(run: Run, progress: Progress | None) -> None:
    """One bar, and what it counts: within the run's state, or the states from launch to result."""
    share, text = describe_line(run, progress)
    st.progress(share, text=text)


def describe_line(run: Run, progress: Progress | None) -> tuple[float, str]:
    """What is done, 0 to 1, and what that counts."""
    share, text = describe_progress(run, progress)
    done, total = run.stage
    if share is None and run.state in LINE:
        text = t("live.stage", state=text, number=done + 1, total=total)
    return done / total if share is None else share, text


def show_stages(run: Run, progress: Progress | None) -> None:
    """A bar for each state on the line."""
    done, _ = run.stage
    share, text = describe_progress(run, progress)
    for index, (column, state) in enumerate(zip(st.columns(len(LINE)), LINE, strict=True)):
        if state is run.state:
            column.progress(share or 0.0, text=text)
        else:
            column.progress(1.0 if index < done else 0.0, text=t(f"state.{state}"))


def describe_progress(run: Run, progress: Progress | None) -> tuple[float | None, str]:
    """What is done of the state that a run is in, 0 to 1, with how many of how many; None where nothing is counted."""
    name = t(f"state.{run.state}")
    if progress is None or progress.state is not run.state:
        return None, name
    share, text = None, name
    if progress.has_no_total:
        text = t("live.counted_so_far", state=name, done=f"{progress.done:,}", unit=t.unit(progress.unit))
    elif progress.is_plausible:
        share = progress.fraction
        text = t(
            "live.counted",
            state=name,
            done=f"{progress.done:,}",
            total=f"{progress.total:,}",
            unit=t.unit(progress.unit),
        )
    return share, f"{text} · {t.stage(progress.stage)}" if progress.stage else text


def show_stop(run: Run, *, key: str) -> None:
    """A button that stops the run, after asking, for who may; the page calls `show_stop_dialog`, too."""
    if not run.can_stop or not is_allowed("Runs.stop", run.created_by):
        return
    if st.button(t("runs.stop"), key=f"stop-{key}", icon=":material/front_hand:"):
        STOPPING.open(run.run_id)


def show_stop_dialog() -> None:
    """The question that `show_stop` raised, if it did; call it once a page, outside fragments."""
    STOPPING.show(t("runs.stop_title"), _confirm_stop)


def _confirm_stop() -> None:
    run = core().ledger.get(STOPPING.subject)
    st.markdown(f"**{escape_markdown(run_title(run))}**")
    text_key = "runs.give_up_question" if run.can_give_up else "runs.stop_question"
    st.markdown(t(text_key, state=t(f"state.{run.state}")))
    if st.button(t("runs.stop_yes"), key="stop-yes", type="primary", icon=":material/front_hand:"):
        core().runs.stop(run.run_id, actor())
        STOPPING.leave()
    if st.button(t("runs.stop_no"), key="stop-no"):
        STOPPING.leave()


def show_collect_again(run: Run, *, key: str) -> None:
    """A button that collects the results of a failed run once more."""
    if not run.can_collect_again or not is_allowed("Runs.collect_again"):
        return
    if st.button(t("runs.collect_again"), key=f"collect-{key}", icon=":material/download:"):
        core().runs.collect_again(run.run_id, actor())
        navigation.open_page(navigation.LIVE, {"run": run.run_id})


def started_text(run: Run) -> str:
    """Who launched it, and when."""
    return t("runs.launched", who=escape_markdown(run.created_by), at=format_time(run.created_at))
