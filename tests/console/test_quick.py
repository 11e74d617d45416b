"""What keeps reruns short, seen without a clock."""

import ast
import gc
import tomllib
import weakref
from collections.abc import Iterator, Mapping

import pytest
from streamlit.runtime.scriptrunner import StopException

from aisbench_core.config.settings import HOME
from pages._ui.shell.preloading import collect_garbage, freeze_after_run
from tests.source_tree import files_of


def test_what_a_page_has_loaded_is_not_looked_through_for_garbage_after_its_next_reruns() -> None:
    before = gc.get_freeze_count()
    with pytest.raises(StopException), freeze_after_run("a page that ends early"):
        raise StopException

    first = gc.get_freeze_count()
    later = [[each] for each in range(1000)]
    with freeze_after_run("a page that ends early"):
        pass

    assert first > before
    assert gc.get_freeze_count() <= first
    assert gc.is_tracked(later)


def test_garbage_of_all_sessions_is_not_looked_for_after_each_redraw() -> None:
    settings = tomllib.loads((HOME / ".streamlit" / "config.toml").read_text("utf-8"))
    seen: list[int] = []

    def count(phase: str, facts: Mapping[str, int]) -> None:
        if phase == "start":
            seen.append(facts["generation"])

    with freeze_after_run("a page with many viewers"):
        pass
    gc.callbacks.append(count)

    for _ in range(100):
        with freeze_after_run("a page with many viewers"):
            pass
    gc.callbacks.remove(count)

    assert settings["runner"]["postScriptGC"] is False
    assert seen.count(2) <= 1


def test_garbage_of_pages_is_collected() -> None:
    cycle = _Cycle()
    cycle.own, left = cycle, weakref.ref(cycle)
    del cycle
    gc.disable()
    try:
        collect_garbage(-1)  # a period that has not been

        assert left() is None
    finally:
        gc.enable()


class _Cycle:
    own: object


def test_charts_say_what_their_columns_are() -> None:
    """Of a bare text Altair finds out by comparing each of its schemas, which takes 3 ms."""
    trees = {str(path): ast.parse(path.read_text("utf-8")) for path in files_of("pages")}

    found = {name: list(_encoded(tree)) for name, tree in trees.items()}

    assert sum(map(len, found.values())) > 100
    assert {name: bare for name, told in found.items() if (bare := [each for each in told if _is_bare(each)])} == {}


def _encoded(tree: ast.Module) -> Iterator[ast.expr]:
    """All that charts are told to draw."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "encode":
            yield from (keyword.value for keyword in each.keywords)


def _is_bare(told: ast.expr) -> bool:
    if isinstance(told, ast.Call):
        return ast.unparse(told.func) in ("alt.value", "alt.condition")
    return isinstance(told, ast.Constant)
