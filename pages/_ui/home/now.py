"""The runs that are on their way, and those that failed since yesterday: one line each, with what one can do."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from aisbench_core.base.errors import DamagedLedger
from aisbench_core.base.formats import clip_text, format_duration, format_estimate, format_percent
from aisbench_core.domain.liveness.stalls import sign_of_life
from aisbench_core.domain.logs.lines import LogLevel
from aisbench_core.model import ACTIVE, AlertKind, Run, RunSort, RunState
from aisbench_core.running.diagnosing.cause import Explanation
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import alert_kind, describe_silence, show_alert_badge, watch_of
from pages._ui.home.drafting import open_draft
from pages._ui.home.lines import create_actions, create_line, create_lines
from pages._ui.shell import navigation
from pages._ui.shell.core import core, is_allowed, ledger_answer
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_age
from pages._ui.shell.words import t

LISTED = 5  # active runs, and failed ones, that are shown; the page of runs has all
FAILED = frozenset({RunState.FAILED})
MOST_FAILED = 100  # how many failed runs are looked at for those since yesterday
REASON = 90  # letters of why a run waits; its page has all
SILENT = frozenset({AlertKind.HANG, AlertKind.STALLED, AlertKind.QUIET})


@dataclass(frozen=True, slots=True)
class CurrentRuns:
    """What the ledger knows: some of the active runs, how many there are, and those that failed since yesterday."""

    active: Sequence[Run]
    total: int
    failed: Sequence[Run]


def read_current(since: datetime) -> CurrentRuns | None:
    """None where the ledger is damaged, which the menu says: recorded results can still be shown."""
    ledger = core().ledger
    try:
        latest = ledger_answer(ledger.page, FAILED, limit=MOST_FAILED, sort=RunSort.ENDED)
        active, total = ledger_answer(ledger.page, ACTIVE, limit=LISTED), ledger_answer(ledger.count, ACTIVE)
    except DamagedLedger:
        return None
    return CurrentRuns(active, total, [run for run in latest if run.ended_at and run.ended_at >= since])


def show_now(current: CurrentRuns) -> None:
    """Failed runs first: they wait for somebody. Nothing where none runs and none failed."""
    failed = current.failed[:LISTED]
    if not failed and not current.active:
        return
    st.header(t("home.now"))
    names = core().run_names.of([*failed, *current.active])
    with create_lines("now"):
        for run in failed:
            _show_failed(run, names[run.run_id])
        for run in current.active:
            _show_active(run, names[run.run_id])
    more = len(current.failed) - len(failed) + current.total - len(current.active)
    if more:
        navigation.link_page(navigation.RUNS, t("home.more_runs", count=f"{more:,}"), {})


def _show_failed(run: Run, name: str) -> None:
    title, text, when, actions = create_line(f"{run.state}-{run.run_id}", has_picture=False)
    with title:
        _link_run(run, name)
    found = core().causes.explain_here(run)
    text.markdown(f":red[{escape_markdown(cards.why_failed(run)) or t('state.failed')}]{_format_place(found)}")
    when.caption(_format_origin(run, run.ended_at or run.updated_at))
    with create_actions(actions):
        if found and found.changes and is_allowed("Runs.launch"):
            _show_retry(found)
        _link_log(run, found)


def _format_place(found: Explanation | None) -> str:
    error = found.error if found else None
    if error is None:
        return ""
    numbers = (("cause.node", error.node), ("cause.rank", error.rank))
    return "".join(f" · {t(key, number=f'{number:,}')}" for key, number in numbers if number is not None)


def _show_retry(found: Explanation) -> None:
    if st.button(_name_retry(found), key=f"retry-{found.run_id}", icon=":material/build:"):
        open_draft(found.run_id, navigation.CONFIGURE, {}, core().causes.correct_spec)


def _name_retry(found: Explanation) -> str:
    """What a corrected draft changes, where it is short."""
    if len(found.changes) != 1 or found.changes[0].now is None:
        return t("home.retry")
    change = found.changes[0]
    name = change.field.removeprefix("parameters.")
    return t("home.retry_with", name=escape_markdown(name), value=escape_markdown(str(change.now)))


def _show_active(run: Run, name: str) -> None:
    alert = alert_kind(run)
    title, text, when, actions = create_line(
        f"{'alert' if alert in SILENT else 'active'}-{run.run_id}", has_picture=False
    )
    with title:
        _link_run(run, name)
    with text.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        show_alert_badge(run)
        st.markdown(_describe_silence(run) if alert in SILENT else _describe_progress(run))
    when.caption(_format_origin(run, run.created_at))
    with create_actions(actions):
        _link_log(run)
        cards.show_stop(run, key=run.run_id)


def _link_log(run: Run, found: Explanation | None = None) -> None:
    """To the line of the error, or to the errors of a failed run; else to the end of the log."""
    selection = {"run": run.run_id}
    error = found.error if found else None
    if found and error and error.node is not None and found.log_offset is not None:
        selection |= {"node": str(error.node), "offset": str(found.log_offset)}
    elif run.state is RunState.FAILED:
        selection["log_level"] = LogLevel.ERROR.value
    navigation.link_page(navigation.LIVE, t("live.log"), selection, icon=":material/notes:")


def _link_run(run: Run, name: str) -> None:
    icon = cards.MARKS.get(run.state, ":material/radio_button_checked:")
    label = f"**{escape_markdown(name)}**"
    navigation.link_page(navigation.LIVE, label, {"run": run.run_id}, icon=icon, help_text=run.run_id)


def _format_origin(run: Run, at: datetime) -> str:
    return f"{escape_markdown(run.created_by)} · {format_age(at, core().clock())}"


def _describe_silence(run: Run) -> str:
    watch = watch_of(run)
    if watch is None:
        return ""
    life = sign_of_life(watch, None)
    age = format_duration(max(0, round((core().clock() - life.at).total_seconds())))
    limits = {"longest": format_duration(life.longest_s), "limit": format_duration(life.limit_s)}
    return f":orange[{t('home.silent', age=age, **limits)}]"


def _describe_progress(run: Run) -> str:
    """How far it is, in numbers only: a bar beside them would say the same."""
    progress = ledger_answer(core().ledger.progress, run.run_id)
    share, text = cards.describe_progress(run, progress)
    if run.detail and (run.is_retrying or run.state is RunState.HELD):
        why = clip_text(t.message(run.explanation), REASON)
        return f":orange[{escape_markdown(text)} · {escape_markdown(why)}]"
    done = format_percent(round(share, 2)) if share is not None else ""
    left = core().snapshots.of(run, progress).overview.remaining_s if run.state is RunState.RUNNING else None
    silence = describe_silence(run)
    if done and (left or silence):  # of a run under way, whose sign says so
        text = ""
    remaining = t("home.left", time=format_estimate(left)) if left and not silence else ""
    said = escape_markdown(" · ".join(filter(None, (text, done, remaining))))
    return f"{said} · :orange[{silence}]" if silence else said
