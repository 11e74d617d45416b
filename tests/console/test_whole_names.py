"""A name that is shortened on screen is whole in a tooltip or beside it."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.console.conftest import OpenPage

LONG = "resnet-" + "with-a-name-that-goes-on-" * 4 + "end"

WHOLE_IN = {
    "compare/comparability.py": "the table of differences",
    "compare/comparison.py": "the cell's tooltip",
    "compare/many.py": "the tooltip of head and cell",
    "compare/names.py": "the table of differences",
    "configure/folds.py": "the field, in the fold",
    "history/baselines.py": "the chart's tooltip",
    "history/choice.py": "a line below the field",
    "history/groups.py": "the cell's tooltip",
    "history/results.py": "the chart's tooltip",
    "history/run_table.py": "the cell's tooltip",
    "history/trend_charts.py": "the chart's tooltip",
    "home/changes.py": "the tooltip of History's chart, which the title links to",
    "home/now.py": "the run's page, which the row links to",
    "leaderboard/blocks.py": "the title's tooltip",
    "leaderboard/chart.py": "the bar's tooltip",
    "leaderboard/tv.py": "the Leaderboard: nobody points at a wall screen",
    "run/head.py": "the parameters as sent",
    "run/recorded.py": "the title's tooltip, and record.json",
    "runs/scalars.py": "the title's tooltip; of damaged files, the run's folder",
    "runs/tiles.py": "the page History, which a link below them opens",
    "runs/validity.py": "record.json: these are sentences of 600 letters",
    "scaling/choice.py": "a line below the field",
    "shell/filters.py": "the badge's tooltip",
    "shell/errors.py": "console.log: these are texts of 2,000 letters",
    "shell/formats.py": "the tooltip itself",
}
"""Where the whole text is, of everything that a module of `pages/_ui` shortens."""


def shortening_modules() -> set[str]:
    """The modules that call one of the functions that shorten texts."""
    found = set()
    for path in (HOME / "pages").rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        if names & {"clip_text", "shorten_hash"}:
            found.add(path.relative_to(HOME / "pages" / "_ui").as_posix())
    return found


@pytest.fixture
def long_names(data_dir: Path) -> Warehouse:
    """Two configurations of a model with a long name, which differ in a long parameter."""
    facts = replace(a.FACTS, title=LONG, model=LONG)
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    notes = {"short": "none", "long": LONG}
    warehouse.rebuild([
        a.record(name, facts=facts, speed_parameters={"epoch_size": 90, "batch_size": 256, "note": note})
        for name, note in notes.items()
    ])  # fmt: skip
    return warehouse


def test_every_module_that_shortens_names_says_where_the_whole_name_is() -> None:
    assert shortening_modules() == set(WHOLE_IN)


def test_the_tooltip_of_a_shortened_title_or_filter_is_the_whole_name(
    open_page: OpenPage, long_names: Warehouse
) -> None:
    blocks = open_page("leaderboard", model=LONG)
    run = open_page("live", run="long")

    assert any(LONG in each.help and "note" in each.help for each in blocks.markdown if each.help)
    assert any(LONG in each.help for each in blocks.markdown if each.help and each.value != each.help)
    assert LONG in run.title[0].proto.help
    assert long_names.trends.list_rows(BoardQuery("cn-north-9")).rows


@pytest.mark.parametrize("page", ["history", "scaling"])
def test_the_whole_name_of_a_choice_is_below_its_field(open_page: OpenPage, long_names: Warehouse, page: str) -> None:
    groups = {row.group.fingerprint: row.group.id for row in long_names.trends.list_rows(BoardQuery("cn-north-9")).rows}
    group = next(iter(groups.values()))

    captions = [each.value for each in open_page(page, group=group).caption]

    assert any(LONG.replace("-", "\\-") in caption or LONG in caption for caption in captions)


def test_the_tooltip_of_history_has_the_whole_version(open_page: OpenPage, long_names: Warehouse) -> None:
    groups = long_names.trends.list_rows(BoardQuery("cn-north-9")).rows

    app = open_page("history", group=groups[0].group.id, by="code_sha256", along="version")

    specs = [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]
    assert any('"whole"' in json.dumps(spec) for spec in specs)
