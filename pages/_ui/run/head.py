"""The head of a run's page: what ran and how it ended in one line, what can be done at its end, and facts below it."""

from collections.abc import Iterable, Iterator

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.formats import format_duration, shorten_hash
from aisbench_core.model import Annotations, Run
from aisbench_core.warehouse.values.runs import RunRow, TargetOutcome, Validity
from pages._ui.cards import run_cards as cards
from pages._ui.runs.annotations import show_annotation_form, show_note
from pages._ui.runs.target import target_text
from pages._ui.runs.validity import COLOURS
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.words import t


def create_head() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The places of the title and of the actions."""
    with st.container(horizontal=True, vertical_alignment="center", key="run-head"):
        title = st.empty()
        actions = st.container(
            horizontal=True,
            horizontal_alignment="right",
            vertical_alignment="center",
            key="run-actions",
            width="content",
        )
    return title, actions


def show_run_title(title: DeltaGenerator, run: Run, recorded: RunRow | None = None) -> None:
    """A sign of the state, the name, the state in words, and of a recorded run what its result is worth."""
    colour = cards.COLOURS.get(run.state, "blue")
    name = escape_markdown(core().run_names.of([run])[run.run_id])
    parts = (f":{colour}[{cards.TAB_MARKS.get(run.state, '▶')}] {name}", f":{colour}-badge[{t(f'state.{run.state}')}]")
    title.title(" ".join((*parts, *_list_badges(recorded))), anchor=False)


def show_recorded_title(title: DeltaGenerator, name: str, row: RunRow, help_text: str | None) -> None:
    """The same for a run that the ledger does not have."""
    origin = () if row.validity is Validity.CLAIMED else (f":violet-badge[{t(f'origin.{row.origin}')}]",)
    title.title(" ".join((escape_markdown(name), *origin, *_list_badges(row))), anchor=False, help=help_text)


def _list_badges(row: RunRow | None) -> Iterator[str]:
    if row is None:
        return
    if row.verified_by and row.validity is Validity.CLAIMED:
        yield f":green-badge[{t('validity.verified_by', name=escape_markdown(row.verified_by))}]"
    else:
        yield f":{COLOURS[row.validity]}-badge[{t(f'validity.{row.validity}')}]"
    if row.target_outcome is TargetOutcome.MISSED and row.validity.counts:
        yield f":red-badge[{target_text(row)}]"


def show_run_facts(facts: Iterable[str], run_id: str) -> None:
    """One line about a run, with its tags and what changes them; below it, its note."""
    with st.container(horizontal=True, vertical_alignment="center", key="run-facts"):
        st.caption(" · ".join(filter(None, facts)), width="content")
        annotations: Annotations | None = None
        with errors_shown():
            annotations = core().annotations.of(run_id)
            show_annotation_form(run_id, annotations)
    if annotations:
        show_note(run_id, annotations)


def list_facts(run: Run) -> tuple[str, ...]:
    """Which run it is, where, by whom, when, for how long, and with which code."""
    has_name = bool(core().annotations.of(run.run_id).name)
    took = t("run.took", time=format_duration(run.duration_s)) if run.duration_s is not None else ""
    code = t("run.code", hash=shorten_hash(run.code_sha256)) if run.code_sha256 else ""
    what = escape_markdown(cards.run_facts(run) if has_name else run.profile)
    return run.run_id, what, cards.started_text(run), took, code
