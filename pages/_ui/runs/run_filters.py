"""Which runs the list of runs has: by a text, who launched them, their state and their age, as the URL says."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import streamlit as st

from aisbench_core.model import Run, RunSort, RunState
from aisbench_core.warehouse.values.conditions import Condition
from pages._ui.grid.sorting import Sorting
from pages._ui.runs.conditions import choose_conditions, show_conditions
from pages._ui.shell import url
from pages._ui.shell.core import core, ledger_answer, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.listing import choose_text
from pages._ui.shell.words import t

WHO, STATE, DAYS = "who", "state", "days"  # parameters of the URL

MAX_FULFILLING = 5_000  # recorded runs that fulfil conditions: a ledger takes no more ids
AGES = (0, 1, 7, 30, 90)  # in days; 0: any


@dataclass(frozen=True, slots=True)
class RunChoice:
    """No states, no people: all of them."""

    text: str = ""
    states: tuple[RunState, ...] = ()
    people: tuple[str, ...] = ()
    since: datetime | None = None
    where: tuple[Condition, ...] = ()

    @property
    def is_narrow(self) -> bool:
        """Whether it may leave out a run."""
        return bool(self.text or self.states or self.people or self.since or self.where)

    def count(self, states: Collection[RunState]) -> int:
        """How many of the runs in these states it has."""
        return ledger_answer(core().ledger.count, self._narrow(states), self.text, self.people, self.since, self._ids)

    def read(self, states: Collection[RunState], sorting: Sorting[RunSort], limit: int, offset: int) -> list[Run]:
        """A page of those of its runs that are in these states."""
        page, narrowed = core().ledger.page, self._narrow(states)
        by, is_descending, people, since = sorting.by, sorting.is_descending, self.people, self.since
        return ledger_answer(
            page, narrowed, self.text, limit, offset, by, is_descending, people=people, since=since, run_ids=self._ids
        )

    @property
    def _ids(self) -> tuple[str, ...] | None:
        """Only what is recorded has numbers."""
        if not self.where:
            return None
        return run_cached(core().warehouse.runs.list_fulfilling, self.where, MAX_FULFILLING)

    def _narrow(self, states: Collection[RunState]) -> frozenset[RunState]:
        return frozenset(states).intersection(self.states or states)


def choose_filters() -> RunChoice:
    """The search, and the other filters behind a button; `show_filters` says which ones filter."""
    text = choose_text(t("runs.filter"), t("runs.search"), width="stretch", label_visibility="collapsed")
    with st.popover(t("board.filters"), icon=":material/filter_alt:"):
        people = _choose_people()
        states = url.choose_options(STATE, t("runs.state"), list(RunState), lambda state: t(f"state.{state}"),
            resets=["page"], placeholder=t("runs.every_state"))  # fmt: skip
        days = url.choose_option(st.selectbox, DAYS, t("runs.age"), AGES, _describe_age, resets=["page"])
        where = choose_conditions(run_cached(core().warehouse.facets.suggest_conditions))
        if where:
            st.caption(t("where.recorded", most=f"{MAX_FULFILLING:,}"))
    # To the minute: the ledger's answers are kept by what was asked.
    since = core().clock().replace(second=0, microsecond=0) - timedelta(days=days) if days else None
    return RunChoice(text, tuple(states), tuple(people), since, where)


def show_filters(choice: RunChoice) -> None:
    """What the list is filtered by, as the filters themselves are behind a button."""
    days = int(st.query_params[DAYS]) if choice.since else 0
    texts = [
        *choice.people,
        *(t(f"state.{state}") for state in choice.states),
        *([_describe_age(days)] if days else []),
    ]
    if texts:
        with st.container(horizontal=True, key="active-filters"):
            for text in texts:
                st.badge(escape_markdown(text), color="blue")
    show_conditions(choice.where)


def _choose_people() -> list[str]:
    """Those who launched a run; a link may name somebody who did not, and then no run matches."""
    people = ledger_answer(core().ledger.list_people)
    named = [name for name in st.query_params.get_all(WHO) if name not in people]
    return url.choose_options(WHO, t("runs.who"), [*people, *named], resets=["page"], placeholder=t("runs.everybody"))


def _describe_age(days: int) -> str:
    return t("runs.days", days=days) if days > 1 else t("runs.day") if days else t("runs.any_age")
