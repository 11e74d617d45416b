"""A version has one colour in the charts of all pages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from streamlit.testing.v1 import AppTest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.shell.charts import RAMP
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.seeds import history


def test_a_version_has_the_same_colour_on_every_page(open_page: OpenPage, used: Path) -> None:
    with_older = [*history(), *a.records([7_000, 7_100], "older", framework_version="r1.9", region="elsewhere")]
    Warehouse(used / "warehouse.duckdb").rebuild(with_older)
    pages: dict[str, dict[str, str | list[str]]] = {
        "leaderboard": {"region": "cn-north-9", "chart": "1"},
        "scaling": {"region": "cn-north-9"},
        "history": {"region": "cn-north-9", "group": _trend_of_two_versions(used)},
        "compare": {"ids": ["run-n1-0", "run-new-0"]},
    }

    colours = {page: _colours(open_page(page, **asked)) for page, asked in pages.items()}

    assert colours["leaderboard"] == colours["history"] == colours["compare"] == {"r1.10": RAMP[1], "r1.11": RAMP[2]}
    assert colours["scaling"] == {"r1.10": RAMP[1]}


def test_where_colours_begin_anew_versions_differ_in_shape(open_page: OpenPage, data_dir: Path) -> None:
    store = Warehouse(data_dir / "warehouse.duckdb")
    versions = [f"r1.{number}" for number in range(2 * len(RAMP))]
    store.record_many(
        run
        for version in versions
        for nodes in (1, 2)
        for run in a.records([8_000.0 * nodes] * 2, f"{version}-{nodes}", framework_version=version, node_count=nodes)
    )
    group = store.trends.list_rows(BoardQuery("cn-north-9")).rows[0].group.id

    history = open_page("history", group=group)
    scaling = open_page("scaling", curve=_two_of_one_colour(store, versions))

    for app in (history, scaling):
        marks = list(zip(_ranges(app, "color"), _ranges(app, "shape"), strict=True))
        assert marks
        for colours, shapes in marks:
            assert len({*zip(colours, shapes, strict=True)}) == len(colours) > len({*colours})


def _two_of_one_colour(store: Warehouse, versions: list[str]) -> list[str]:
    curves = store.scaling.list_curves(
        store.scaling.list_configurations(BoardQuery("cn-north-9")).rows[0].configuration
    )
    same = (versions[0], versions[len(RAMP)])
    return [curve.query.id for curve in curves if curve.query.framework_version in same]


def _ranges(app: AppTest, channel: str) -> list[list[str]]:
    """The values of a channel for each layer that has both colours and shapes."""
    specs = [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]
    layers = [
        layer["encoding"] for spec in specs for layer in spec["layer"] if "scale" in layer["encoding"].get("shape", {})
    ]
    return [layer[channel]["scale"]["range"] for layer in layers]


def _trend_of_two_versions(folder: Path) -> str:
    rows = Warehouse(folder / "warehouse.duckdb").trends.list_rows(BoardQuery("cn-north-9")).rows
    return next(row.group.id for row in rows if row.group.node_count == 1)


def _colours(app: AppTest) -> dict[str, str]:
    """The colour of each version in the page's charts, whatever stands beside it in a legend."""
    found: dict[str, str] = {}
    for chart in app.get("vega_lite_chart"):
        for domain, colours in _scales(json.loads(chart.proto.spec)):
            for label, colour in zip(domain, colours, strict=True):
                version = re.findall(r"r1\.[0-9]+", label)[0]
                assert found.setdefault(version, colour) == colour
    return found


def _scales(node: object) -> Iterator[tuple[list[str], list[str]]]:
    if isinstance(node, dict):
        colour = node.get("color")
        scale = colour.get("scale") if isinstance(colour, dict) else None
        if scale and "range" in scale:  # a heat map has a scheme
            yield scale["domain"], scale["range"]
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _scales(child)
