"""The printed report: nothing in it runs or loads, whatever names hold, and both languages say the same."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.base.errors import RunNotFound, SpecError
from aisbench_core.base.messages import label_in_chinese
from aisbench_core.exchange.report import charts
from aisbench_core.exchange.report.reports import TEMPLATES, Reports, make_environment
from aisbench_core.exchange.report.words import MAX_RUNS, WORDS, ReportLanguage
from aisbench_core.model import stated_of
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, CheckLevel, Validity
from tests import records as a
from tests.actors import TESTER

pytestmark = pytest.mark.slow  # draws whole reports

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
ALL = BoardQuery("cn-north-9", include_invalid=True)
HOSTILE = "\"><script>alert('x')</script><img src=x onerror=alert(1)>\n=1+1 😀 \x1b[31m\u202e </style></title>{{ 1/0 }}"

DRAWN = ("svg", "text", "rect", "line", "circle", "polyline")
WRITTEN = (
    "br",
    "col",
    "colgroup",
    "h1",
    "h2",
    "h3",
    "p",
    "div",
    "span",
    "figure",
    "figcaption",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
)
ELEMENTS = {"html", "head", "title", "style", "body", *WRITTEN, *DRAWN}
PLACES = ("viewBox", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points")
LOOKS = (
    "fill-opacity",
    "font-family",
    "font-size",
    "fill",
    "stroke",
    "opacity",
    "text-anchor",
    "stroke-width",
    "stroke-dasharray",
)
ATTRIBUTES = {"lang", "class", "scope", "colspan", "role", "aria-hidden", *PLACES, *LOOKS}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def reports(warehouse: Warehouse, now: datetime = NOW) -> Reports:
    return Reports(warehouse, lambda: now)


def report(
    warehouse: Warehouse, *run_ids: str, language: ReportLanguage = ReportLanguage.EN, full: bool = False
) -> str:
    return reports(warehouse).write(run_ids or reports(warehouse).list_chosen(ALL), language, full=full)


def text_of(page: str) -> str:
    """What a reader sees; the page is well-formed, so a strict parser reads it."""
    body = re.sub(r"<meta[^>]*>|<!doctype html>", "", page)
    root = ElementTree.fromstring(body)  # noqa: S314 (our own page)
    return " ".join(" ".join(root.find("body").itertext()).split())  # type: ignore[union-attr]  # every page has one


def measured(warehouse: Warehouse) -> None:
    runs = [
        a.record(f"n{nodes}-{number}", node_count=nodes, throughputs=[1000.0 - nodes + number] * 8 * nodes,
                 created_at=a.T0 + timedelta(hours=number))
        for nodes in (1, 2) for number in range(5)
    ]  # fmt: skip
    stated = stated_of({"submitter": "Lab 3", "test_id": "T-7", "host_memory_capacity": "768 GB"})
    warehouse.record_many([replace(run, described=stated) for run in runs] + [a.record("bad", accuracy=7.0)])


def test_a_report_says_beside_a_standards_ruleset_that_its_rules_are_inferred(warehouse: Warehouse) -> None:
    one, ieee = a.record("one"), "ieee-2937-2022"
    warehouse.record(replace(one, run=replace(one.run, series_id="s-1")))
    warehouse.store_evaluations(warehouse.validate(replace(ALL, ruleset_id=ieee)), actor=TESTER)

    written = [
        text_of(reports(warehouse).write(["one"], language, ieee, full=full))
        for language in (ReportLanguage.EN, ReportLanguage.BOTH)
        for full in (False, True)
    ]

    for said in written[:2]:
        basis = "rules inferred without the standard's text"
        # In the summary, in identification, for the series and for the run.
        assert said.count(ieee) == said.count(f"{ieee} ({basis})") + said.count(f"{ieee}, {basis}") == 4
    for said in written[2:]:
        basis = f"{ieee} (rules inferred without the standard's text 规则为推断，未依据标准原文 )"
        assert said.count(ieee) - 2 == said.count(basis) == 3  # the summary has a sentence in each language


@pytest.mark.parametrize("full", [False, True])
def test_a_report_says_who_what_how_fast_and_how_that_is_known(warehouse: Warehouse, full: bool) -> None:
    measured(warehouse)

    said = text_of(report(warehouse, full=full))

    run = warehouse.runs.find_row("n1-0")
    assert run is not None
    for part in (
        "Test id T-7",
        "Laboratory / submitter Lab 3",
        "Runs 11",
        "of them valid 10",
        "Memory per node 768 GB" if full else "Memory per node: 768 GB",
        "batch_size 256",
        "7,992",  # samples/s of the first run
        "Olympic mean",
        "Throughput over nodes",
        "V06 failed",
        run.record_sha256,
        run.spec_sha256,
    ):
        assert part in said, part


def test_a_report_says_whether_a_series_counts_and_what_checks_found_in_its_language(warehouse: Warehouse) -> None:
    runs = a.records([8000.0, 8100.0, 8050.0], "again")
    warehouse.record_many([replace(each, run=replace(each.run, series_id="s-1")) for each in runs])

    english, chinese, both = (
        text_of(report(warehouse, "again-1", language=each, full=True)) for each in ReportLanguage
    )
    short = text_of(report(warehouse, "again-1"))

    assert "s-1 · Nodes: 1 · r1.10" in english
    assert "passed · aisbench/1" in english
    assert "s-1 · r1.10" in short
    assert "V08 warning 5 valid runs: 3 of 3 runs" in short
    assert "V08 warning 5 valid runs 3 of 3 runs" in english, "over the whole series, of which one run is reported"
    assert "V08 警告 5 次有效运行 3 次运行中有 3 次" in chinese
    assert "V08 warning 警告 5 valid runs 5 次有效运行 3 of 3 runs 3 次运行中有 3 次" in both


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("language", ReportLanguage)
def test_names_cannot_become_markup_and_nothing_is_loaded(
    warehouse: Warehouse, language: ReportLanguage, full: bool
) -> None:
    asked = {"created_by": HOSTILE, "flavor": HOSTILE, "parameters": {"epoch_size": 90, "x": HOSTILE}}
    warehouse.record(
        replace(a.record(HOSTILE, **asked), described=stated_of({"submitter": HOSTILE}))  # type: ignore[arg-type]
    )

    page = report(warehouse, HOSTILE, language=language, full=full)

    elements = list(ElementTree.fromstring(re.sub(r"<meta[^>]*>|<!doctype html>", "", page)).iter())  # noqa: S314  # our own
    assert {each.tag for each in elements} <= ELEMENTS
    assert {name for each in elements for name in each.attrib} <= ATTRIBUTES
    assert not re.search(r"https?://", page)
    assert "default-src 'none'" in page
    assert "<script>alert(" in text_of(page)
    assert not set(page) & {"\x1b", "\u202e"}


def test_a_name_that_never_ends_stands_whole_in_one_place_and_cut_in_narrow_columns(warehouse: Warehouse) -> None:
    name = "训" * 5_000
    warehouse.record(a.record("long", facts=replace(a.FACTS, model=name)))

    text = text_of(report(warehouse, "long", language=ReportLanguage.BOTH))

    assert text.count(name) == 1
    assert text.count("训") < 5_000 + 2 * 600 + 12 * 80


def test_rehearsals_are_marked_on_every_page_and_never_mix_with_measurements(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("real"), a.record("practice", rehearsal=True, region="sandbox")])

    page = report(warehouse, "practice")

    assert 'class="watermark"' in page
    assert '@top-right { content: "REHEARSAL – NOT A MEASUREMENT"' in page
    assert "None of these numbers is a measurement" in text_of(page)
    assert "REHEARSAL" not in report(warehouse, "real")
    with pytest.raises(SpecError, match="must be of one region"):
        report(warehouse, "real", "practice")


def test_the_same_runs_give_the_same_hash_whenever_they_are_reported(warehouse: Warehouse) -> None:
    measured(warehouse)

    def data_hash(page: str) -> str:
        return str(re.findall(r'class="hash">([0-9a-f]{64})<', page)[-1])

    first = report(warehouse, "n1-0", "n2-0")
    later = reports(warehouse, NOW + timedelta(days=1)).write(["n2-0", "n1-0"], ReportLanguage.ZH)
    other = report(warehouse, "n1-0", "n2-1")

    assert data_hash(first) == data_hash(later) != data_hash(other)
    numbers = [re.findall("AISB-[0-9A-F]{12}", page)[0] for page in (first, later, other)]
    assert numbers[0] == numbers[1] != numbers[2]


def test_what_cannot_be_reported_is_said(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("one"), *a.records([8000.0] * MAX_RUNS, "many")])

    with pytest.raises(RunNotFound, match="no such run: lost"):
        report(warehouse, "one", "lost")
    with pytest.raises(SpecError, match="200 runs at most"):
        report(warehouse)
    with pytest.raises(SpecError, match="no run fits"):
        reports(warehouse).list_chosen(replace(ALL, models=("none",)))
    with pytest.raises(SpecError, match="must be 1 to 200"):
        reports(warehouse).write([], ReportLanguage.EN)


def test_runs_without_a_result_are_reported_too(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("failed", with_result=False), a.imported("old", stated=("mode",))])

    assert "failed: incomplete" in text_of(report(warehouse, "failed", full=True))
    assert "1 run is left out (№ 1; modelarts.kat1.8xlarge): not completed" in text_of(report(warehouse, "failed"))
    assert "– × –" in text_of(report(warehouse, "old"))


COMPOSED = ("throughput_", "chart_", "details_", "conformity_", "rule_")
"""Beginnings of keys that templates put together."""


def test_every_word_is_in_both_languages() -> None:
    chinese = {key: label_in_chinese(f"report.{key}", "") for key in WORDS}
    assert not [key for key in WORDS if not WORDS[key] or (chinese[key].isascii() and key not in "n of")]
    files = [*TEMPLATES.iterdir(), TEMPLATES.parent / "view.py", TEMPLATES.parent / "appendix.py"]
    source = "".join(file.read_text("utf-8") for file in files)
    known = {*Validity, *CheckLevel}
    left_over = {key for key in WORDS if not re.search(rf"[\"']{key}[\"']", source)} - known
    assert not {key for key in left_over if not key.startswith(COMPOSED)}


@given(st.text(), st.text())
def test_every_value_is_escaped(text: str, attribute: str) -> None:
    template = make_environment().from_string("<p{{ {'title': attribute}|xmlattr }}>{{ text }}</p>")

    made = template.render(text=text, attribute=attribute)

    assert made.count("<") == 2
    assert '"' not in made.removeprefix('<p title="').split('">', 1)[0]


@given(st.lists(st.one_of(st.none(), st.floats(1e-100, 1e100)), max_size=90), st.floats(1e-100, 1e100))
def test_charts_are_drawings_for_any_numbers(values: list[float | None], mean: float) -> None:
    rows = [charts.Bar("run", value, True, mean, mean * 0.9, mean * 1.1) for value in values]
    groups = [
        charts.GroupBar("group", (value,), value, mean * 0.9, mean * 1.1) for value in values if value is not None
    ]
    cards = [charts.Strip("run", (value,)) for value in values if value is not None]

    drawings = [
        *charts.draw_bars(rows, "u"),
        *charts.draw_strips(cards, "u"),
        *charts.draw_groups(groups, "u"),
    ]

    assert len(charts.draw_bars(rows, "u")) == -(-len(rows) // charts.MAX_ROWS)
    macros = make_environment().get_template("macros.html.jinja").make_module({"language": "en"})
    for drawing in drawings:
        svg = macros.svg(drawing, "title")  # type: ignore[attr-defined]  # a macro of the template
        ElementTree.fromstring(svg)  # noqa: S314 (our own drawing)
        assert "nan" not in svg
        assert "inf" not in svg
