"""The one Core of all sessions, open until the server ends, and caches of what warehouse and ledger answer."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from aisbench_core.model import Actor, WayIn, local_actor
from aisbench_core.tensorboards import TensorBoards
from aisbench_core.warehouse.values import BoardQuery
from aisbench_core.wiring import Core, open_core

P = ParamSpec("P")
R = TypeVar("R")

# How many answers are kept for all sessions together, those that were used last. The ledger's are kept by themselves: a
# follower's heartbeat makes all of them old once a second.
MAX_ANSWERS = 64
MAX_LEDGER_ANSWERS = 256


@st.cache_resource(show_spinner=False)
def core() -> Core:
    return open_core()


@cache
def tensorboards() -> TensorBoards:
    """The TensorBoards of all sessions; the server ends them, and passes requests on to them."""
    return TensorBoards()


def actor() -> Actor:
    """Who uses the page. The console has no sign-in, so it cannot tell people apart."""
    return local_actor("console", WayIn.CONSOLE)


def cached(query: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The answer to one of the warehouse's queries, which is repeated only when it, or a ruleset, has changed.

    Arguments have to be hashable. A page runs anew at every click, and most clicks change nothing of what it shows."""
    state = (core().warehouse.revision(), *_rulesets(args))
    answer: R = _answer(state, query, *args, **kwargs)  # type: ignore[arg-type]  # lru_cache takes any hashable
    return answer


def _rulesets(values: Sequence[object]) -> Iterator[str]:
    """Hashes of the rulesets that queries name: these are files, which change without the warehouse."""
    for value in values:
        if isinstance(value, BoardQuery) and value.ruleset_id:
            yield core().rulesets.get(value.ruleset_id).sha256


@lru_cache(maxsize=MAX_ANSWERS)
def _answer(_state: tuple[str, ...], query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return query(*args, **kwargs)


def ledger_answer(query: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The answer to one of the ledger's queries, read once for all sessions until the ledger changes.

    Arguments have to be hashable. What a person has just changed is in it: a commit changes the ledger's revision."""
    revision = core().ledger.revision()
    if revision is None:
        return query(*args, **kwargs)
    answer: R = _ledger_answer(revision, query, *args, **kwargs)  # type: ignore[arg-type]  # lru_cache takes any hashable
    return answer


@lru_cache(maxsize=MAX_LEDGER_ANSWERS)
def _ledger_answer(_revision: str, query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return query(*args, **kwargs)
