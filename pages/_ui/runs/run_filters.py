"""Which runs the list of runs has: by a text, who launched them, state, age and tags, pinned or deleted, as the URL
says."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import streamlit as st

from aisbench_core.model import ACTIVE, TERMINAL, Run, RunSort, RunState
from aisbench_core.warehouse.values.conditions import Condition
from pages._ui.grid.sorting import Sorting
from pages._ui.runs.conditions import choose_conditions, show_conditions
from pages._ui.shell import url
from pages._ui.shell.core import core, ledger_answer, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.listing import choose_text
from pages._ui.shell.words import t

WHO, STATE, DAYS, TAG, PINS, GONE = "who", "state", "days", "tag", "pinned", "deleted"  # parameters of the URL

MAX_FULFILLING = 5_000  # recorded runs that fulfil conditions: a ledger takes no more ids
AGES = (0, 1, 7, 30, 90)  # in days; 0: any


@dataclass(frozen=True, slots=True)
class ListPart:
    """Runs in some states: pinned ones, the others, or (None) both."""

    states: Collection[RunState]
    pinned: bool | None = None


PARTS = (ListPart(frozenset(RunState), pinned=True), ListPart(ACTIVE, pinned=False), ListPart(TERMINAL, pinned=False))
"""Of the list, each below the other."""


@dataclass(frozen=True, slots=True)
class RunChoice:
    """No states, people or tags: all of them. `is_pinned`, `is_deleted`: only those."""

    text: str = ""
    states: tuple[RunState, ...] = ()
    people: tuple[str, ...] = ()
    since: datetime | None = None
    where: tuple[Condition, ...] = ()
    tags: tuple[str, ...] = ()
    is_pinned: bool = False
    is_deleted: bool = False

    @property
    def is_narrow(self) -> bool:
        """Whether it may leave out a run."""
        is_part = self.is_pinned or self.is_deleted
        return is_part or bool(self.text or self.states or self.people or self.since or self.where or self.tags)

    def count(self, part: ListPart) -> int:
        """How many runs of a part of the list it has."""
        if self.is_pinned and part.pinned is False:
            return 0
        count, narrowed = core().ledger.count, self._narrow(part.states)
        pinned = True if self.is_pinned else part.pinned
        return ledger_answer(
            count, narrowed, self.text, self.people, self.since, self._ids, tags=self.tags, pinned=pinned,
            deleted=self.is_deleted,
        )  # fmt: skip

    def read(self, part: ListPart, sorting: Sorting[RunSort], limit: int, offset: int) -> list[Run]:
        """A page of its runs of a part of the list."""
        if self.is_pinned and part.pinned is False:
            return []
        page, narrowed = core().ledger.page, self._narrow(part.states)
        return ledger_answer(
            page, narrowed, self.text, limit, offset, sorting.by, sorting.is_descending, people=self.people,
            since=self.since, run_ids=self._ids, tags=self.tags, pinned=part.pinned, deleted=self.is_deleted,
        )  # fmt: skip

    def list_ids(self, most: int) -> tuple[str, ...]:
        """The newest of its runs, of all parts of the list."""
        found = core().ledger.page(
            self._narrow(frozenset(RunState)), self.text, most, people=self.people, since=self.since, run_ids=self._ids,
            tags=self.tags, pinned=True if self.is_pinned else None, deleted=self.is_deleted,
        )  # fmt: skip
        return tuple(run.run_id for run in found)

    @property
    def _ids(self) -> tuple[str, ...] | None:
        """Only what is recorded has numbers."""
        if not self.where:
            return None
        return run_cached(core().warehouse.runs.list_fulfilling, self.where, MAX_FULFILLING)

    def _narrow(self, states: Collection[RunState]) -> frozenset[RunState] | None:
        """None for all states: the few pinned runs are found by their tag, without a look at all others."""
        narrowed = frozenset(states).intersection(self.states or states)
        return None if narrowed == frozenset(RunState) else narrowed


@lru_cache(maxsize=4)
def _list_people(read: Callable[[], list[str]], _minute: datetime) -> list[str]:
    """Read once a minute: it takes a look at all runs, and each heartbeat of a follower changes the ledger."""
    return read()


def choose_filters() -> RunChoice:
    """The search, and the other filters behind a button; `show_filters` says which ones filter."""
    text = choose_text(t("runs.filter"), t("runs.search"), width="stretch", label_visibility="collapsed")
    minute = core().clock().replace(second=0, microsecond=0)
    with st.popover(t("board.filters"), icon=":material/filter_alt:"):
        people = _choose_named(WHO, t("runs.who"), _list_people(core().ledger.list_people, minute), t("runs.everybody"))
        states = url.choose_options(STATE, t("runs.state"), list(RunState), lambda state: t(f"state.{state}"),
            resets=["page"], placeholder=t("runs.every_state"))  # fmt: skip
        days = url.choose_option(st.selectbox, DAYS, t("runs.age"), AGES, _describe_age, resets=["page"])
        tags = _choose_named(TAG, t("runs.tags"), ledger_answer(core().ledger.list_tags), t("runs.every_tag"))
        is_pinned = url.input_switch(PINS, t("runs.pinned"), resets=["page"])
        is_deleted = url.input_switch(GONE, t("runs.deleted"), resets=["page"])
        where = choose_conditions(run_cached(core().warehouse.facets.suggest_conditions))
        if where:
            st.caption(t("where.recorded", most=f"{MAX_FULFILLING:,}"))
    since = minute - timedelta(days=days) if days else None  # the ledger's answers are kept by what was asked
    return RunChoice(text, tuple(states), tuple(people), since, where, tuple(tags), is_pinned, is_deleted)


def show_filters(choice: RunChoice) -> None:
    """What the list is filtered by, as the filters themselves are behind a button."""
    days = int(st.query_params[DAYS]) if choice.since else 0
    texts = [
        *choice.people,
        *(t(f"state.{state}") for state in choice.states),
        *([_describe_age(days)] if days else []),
        *choice.tags,
        *([t("runs.pinned")] if choice.is_pinned else []),
        *([t("runs.deleted")] if choice.is_deleted else []),
    ]
    if texts:
        with st.container(horizontal=True, key="active-filters"):
            for text in texts:
                st.badge(escape_markdown(text), color="blue")
    show_conditions(choice.where)


def _choose_named(key: str, label: str, names: Sequence[str], every: str) -> list[str]:
    """Some of the names; a link may name one that there is not, and then no run matches."""
    named = [name for name in st.query_params.get_all(key) if name not in names]
    return url.choose_options(key, label, [*names, *named], resets=["page"], placeholder=every)


def _describe_age(days: int) -> str:
    return t("runs.days", days=days) if days > 1 else t("runs.day") if days else t("runs.any_age")
