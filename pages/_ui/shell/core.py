"""The console's one Core, opened for the first session and kept until the server ends, and what it was asked before."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from aisbench_core.warehouse.values import BoardQuery
from aisbench_core.wiring import Core, open_core

P = ParamSpec("P")
R = TypeVar("R")

MOST_ANSWERS = 64
"""How many answers are kept for all sessions together, those that were used last."""

WHO = "console"
"""Who acts, as runs and events record it: the console has no sign-in, so it cannot tell people apart."""


@st.cache_resource(show_spinner=False)
def core() -> Core:
    """What every page asks."""
    return open_core()


def asked(question: Callable[P, R], *values: P.args, **named: P.kwargs) -> R:
    """The warehouse's answer to one of its questions: it is asked again only when it, or a ruleset, has changed.

    Values have to be hashable."""
    answer: R = _answer((core().warehouse.revision(), *_rulesets(values)), question, *values, **named)  # type: ignore[arg-type]
    return answer


def _rulesets(values: Sequence[object]) -> Iterator[str]:
    """The texts of rulesets that queries name: files, which change without the warehouse."""
    for value in values:
        if isinstance(value, BoardQuery) and value.ruleset_id:
            yield core().rulesets.get(value.ruleset_id).sha256


@lru_cache(maxsize=MOST_ANSWERS)
def _answer(_state: tuple[str, ...], question: Callable[..., Any], *values: Any, **named: Any) -> Any:
    return question(*values, **named)
