"""The report's first page and its appendix: sentences to send on, hardware in every table, few pages, also as PDF."""

import io
import random
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader

from aisbench_core.base.errors import ConfigError
from aisbench_core.domain.statistics.difference import compare_means
from aisbench_core.domain.statistics.sentences import Side, difference_sentence
from aisbench_core.exchange.report import pdf
from aisbench_core.exchange.report.cells import format_ranges, join_few, make_natural_key
from aisbench_core.exchange.report.details import parse_details
from aisbench_core.exchange.report.lab_section import LabInput
from aisbench_core.exchange.report.reports import Reports, render_page
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.model import AnnotationChange, AnnotationKind, stated_of
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

pytestmark = pytest.mark.slow  # draws whole reports

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)
HOSTILE = "<b>&amp;</b><script>alert(1)</script>{{ 7 * 7 }} url(http://example.com/x)"


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def lab(warehouse: Warehouse, count: int, sizes: tuple[int, ...] = (8,)) -> list[str]:
    """Runs of two versions, of which r2.1 is 4.3 % slower, on each of the sizes; their ids."""
    noise, runs = random.Random(1), []
    for number in range(count):
        version, nodes = ("r2.0", "r2.1")[number % 2], sizes[number // 2 % len(sizes)]
        base = 1000 * (0.957 if version == "r2.1" else 1) * (1 - nodes / 200) * (1 + noise.gauss(0, 0.005))
        run = a.record(
            f"r20260301-{number:06}-abcdef", node_count=nodes, flavor="snt9b", framework_version=version,
            throughputs=[base + noise.gauss(0, 3) for _ in range(8 * nodes)],
            created_at=a.T0 + timedelta(hours=number), with_result=number % 40 != 37,
        )  # fmt: skip
        if number % 5 == 0:
            run = replace(run, run=replace(run.run, series_id=f"s-{number // 50}"))
        runs.append(replace(run, described=stated_of({"submitter": "实验室 3", "host_memory_capacity": "768 GB"})))
    warehouse.record_many(runs)
    return [run.run.run_id for run in runs]


def reports(warehouse: Warehouse) -> Reports:
    return Reports(warehouse, lambda: NOW)


def pages(content: bytes) -> list[str]:
    return [re.sub(r"\s+", " ", page.extract_text()) for page in PdfReader(io.BytesIO(content)).pages]


def tables(page: str) -> list[str]:
    root = ElementTree.fromstring(re.sub(r"<meta[^>]*>|<!doctype html>", "", page))  # noqa: S314 (our own page)
    return [" ".join(table.itertext()) for table in root.iter("table")]


def test_the_first_page_begins_with_the_sentence_and_has_statistics_and_charts(warehouse: Warehouse) -> None:
    runs = lab(warehouse, 8)

    english, chinese, both = (pages(reports(warehouse).write_pdf(runs, each)) for each in ReportLanguage)

    assert max(map(len, (english, chinese, both))) <= 4
    first = english[0]
    assert re.search(r"Summary \S+ mindspore r2.1 is 4.\d % slower than r2.0 on 8 × 8 snt9b \(95 % interval: ", first)
    assert "4 and 4 runs)" in first
    assert "8 of 8 runs are valid (ruleset aisbench/1)" in first
    for part in ("Statistics over the valid runs", "Throughput of each configuration", "实验室 3"):
        assert part in first
    assert "在 8 × 8 snt9b 上" in chinese[0]
    assert "比 r2.0 慢 4" in chinese[0]
    assert "Summary" not in chinese[0]
    assert "slower than" in both[0]
    assert "比 r2.0 慢" in both[0]


@pytest.mark.parametrize("language", ReportLanguage)
def test_the_first_page_says_which_filters_selected_the_runs(warehouse: Warehouse, language: ReportLanguage) -> None:
    runs = lab(warehouse, 8)
    query = BoardQuery("cn-north-9", flavors=("snt9b",), node_counts=(8, 16), text="r2", include_invalid=True)

    first = pages(reports(warehouse).write_pdf(runs, language, query=query))[0]
    named = reports(warehouse).write(runs, language)

    assert "region=cn-north-9 · flavor=snt9b · nodes=8 · nodes=16 · q=r2 · invalid=1" in first
    assert ("运行筛选条件" in "".join(first.split())) == (language is not ReportLanguage.EN)
    assert "Runs selected by" not in named


@pytest.mark.parametrize("language", ReportLanguage)
@pytest.mark.parametrize("sizes", [(1, 2, 4, 8, 10), tuple(range(1, 17))], ids=["5 sizes", "16 sizes"])
def test_185_runs_fit_on_12_pages_and_none_is_left_out(
    warehouse: Warehouse, sizes: tuple[int, ...], language: ReportLanguage
) -> None:
    runs = lab(warehouse, 185, sizes)

    printed = pages(reports(warehouse).write_pdf(runs, language))

    assert len(printed) <= 12
    assert re.search("Charts|图表", printed[0])
    whole = re.sub(r"\s", "", "".join(printed))
    assert [run_id for run_id in runs if run_id not in whole] == []
    hashes = [run.record_sha256 for run in map(warehouse.runs.find_row, runs) if run]
    assert [each for each in hashes if each not in whole] == []
    for number, text in enumerate(printed, start=1):
        assert f"{number} / {len(printed)}" in text


@pytest.mark.parametrize("language", [ReportLanguage.EN, ReportLanguage.ZH])
def test_a_labs_report_of_185_runs_fits_on_12_pages_with_its_number_on_each(
    warehouse: Warehouse, language: ReportLanguage
) -> None:
    limit = {"quantity": "throughput_per_card", "at_least": 950}
    stated = {"laboratory_name": "Lab 3", "laboratory_address": "1 Long Road", "requirements": [limit]}
    given = LabInput(parse_details(stated), number=42)
    runs = lab(warehouse, 185, (1, 2, 4, 8, 10))

    view = reports(warehouse).build_view(runs, language, lab=given)
    printed = pages(pdf.print_page(render_page(view, language, full=False)))

    assert len(printed) <= 12
    assert [number for number, text in enumerate(printed) if "№ 42 ·" not in text] == []
    assert re.search("End of the report|报告结束", printed[-1])


def test_what_no_run_measured_is_named_once_and_has_no_empty_column(warehouse: Warehouse) -> None:
    page = reports(warehouse).write(lab(warehouse, 8), ReportLanguage.EN)

    medians = next(table for table in tables(page) if "Max. power" in table or "Duration" in table.split("snt9b")[0])
    unmeasured = re.search(r"Not measured: ([^<]*)<", page)
    assert unmeasured
    assert "Max. power" in unmeasured[1]
    assert "Max. power" not in medians


def test_runs_left_out_of_the_olympic_mean_are_named_by_their_numbers(warehouse: Warehouse) -> None:
    runs = a.records([8000.0, 8100.0, 8050.0, 8070.0, 8090.0], "again")
    warehouse.record_many([replace(r, run=replace(r.run, series_id="s-1")) for r in runs])

    page = reports(warehouse).write([run.run.run_id for run in runs], ReportLanguage.EN)

    assert "(without № 1–2)" in next(table for table in tables(page) if "without" in table)


def test_every_table_says_on_what_hardware(warehouse: Warehouse) -> None:
    runs = lab(warehouse, 40, sizes=(1, 2))

    page = reports(warehouse).write(runs, ReportLanguage.EN)

    found = tables(page)
    assert len(found) >= 10
    assert [table for table in found if "snt9b" not in table] == []


def test_node_counts_are_in_the_order_of_numbers(warehouse: Warehouse) -> None:
    page = reports(warehouse).write(lab(warehouse, 40, sizes=(10, 2, 1)), ReportLanguage.EN)

    labels = re.findall(r">(r2.\d · \d+ × 8) snt9b</text>", page)
    assert labels == [f"{version} · {nodes} × 8" for nodes in (1, 2, 10) for version in ("r2.0", "r2.1")]


def test_a_run_set_aside_is_said_with_its_reason(warehouse: Warehouse) -> None:
    warehouse.record_many(a.records([8000.0, 8100.0, 8200.0], "good"))
    change = AnnotationChange(a.T0, "ann", AnnotationKind.SET_ASIDE, "node 3 was throttled")
    warehouse.annotations.add("good-2", [change], None)

    english, chinese = (
        reports(warehouse).write(["good-0", "good-1", "good-2"], each)
        for each in (ReportLanguage.EN, ReportLanguage.ZH)
    )

    assert "2 of 3 runs are valid (ruleset aisbench/1); set aside: 1" in english
    assert "set aside: node 3 was throttled" in english
    assert "已剔除：node 3 was throttled" in chinese


def test_what_does_not_count_is_said_with_its_reason(warehouse: Warehouse) -> None:
    good, bad = a.records([8000.0, 8100.0], "good"), a.record("bad", throughputs=[1000.0] * 8, accuracy=7.0)
    warehouse.record_many([*good, bad])

    english, chinese = (
        reports(warehouse).write(["good-0", "good-1", "bad"], each) for each in (ReportLanguage.EN, ReportLanguage.ZH)
    )

    assert "2 of 3 runs are valid (ruleset aisbench/1); invalid: 1" in english
    assert re.search(r"1 run is not valid \(№ \d; \S+\): V\d\d failed: .+ \(expected: .+\)", english)
    assert "3 次运行中有 2 次有效" in chinese


def test_rows_that_look_alike_show_what_distinguishes_them_and_scatter_is_remarked(warehouse: Warehouse) -> None:
    wide, narrow = {"epoch_size": 90, "batch_size": 64}, {"epoch_size": 90, "batch_size": 32}
    warehouse.rebuild(
        [
            *a.records([32_000, 60_000], "wide", speed_parameters=wide),
            *a.records([9_000, 9_100, 9_500], "narrow", speed_parameters=narrow),
        ]
    )
    ids = ["wide-0", "wide-1", "narrow-0", "narrow-1", "narrow-2"]

    page = reports(warehouse).write(ids, ReportLanguage.EN)

    [statistics] = [table for table in tables(page) if "Olympic mean" in table][:1]
    assert "batch_size=64" in statistics
    assert "batch_size=32" in statistics
    assert statistics.count("scattered") == 1
    assert "(batch_size=32) on 1 × 8 modelarts.kat1.8xlarge: median 9,100 samples/s" in page
    assert "interval of the mean: -" not in page


def test_rows_of_which_something_decisive_is_not_known_have_no_interval_and_are_not_compared(
    warehouse: Warehouse,
) -> None:
    tag = {"image_url": "org/image:latest"}
    warehouse.rebuild(
        [
            *a.records([8000, 8010, 8020], "old", framework_version="r2.0", **tag),
            *a.records([7000, 7010, 7020], "new", framework_version="r2.1", **tag),
        ]
    )
    ids = [f"{version}-{number}" for version in ("old", "new") for number in range(3)]

    english, chinese = (reports(warehouse).write(ids, each) for each in (ReportLanguage.EN, ReportLanguage.ZH))

    assert "r2.1 is not compared with r2.0 on 1 × 8 modelarts.kat1.8xlarge: mixed or unknown: image<" in english
    assert "slower" not in english
    assert "median 8,010 samples/s (mixed or unknown: image; 3 runs)" in english
    assert "不作对比：混合或未知：镜像" in chinese
    [statistics] = [table for table in tables(english) if "Olympic mean" in table]
    assert statistics.count("mixed or unknown: image") == 2
    assert "8,010 8,010" in " ".join(statistics.split())
    assert "8,010 8,010 –" in " ".join(statistics.split())


def test_a_version_that_missed_its_target_is_not_said_to_be_faster(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8000, 8010, 8020], "old", framework_version="r2.0"),
            *a.records([9000, 9010, 9020], "new", framework_version="r2.1", accuracy=0.1),
        ]
    )
    ids = [f"{version}-{number}" for version in ("old", "new") for number in range(3)]

    page = reports(warehouse).write(ids, ReportLanguage.EN)

    assert "r2.1 is not compared with r2.0 on 1 × 8 modelarts.kat1.8xlarge: target missed<" in page
    assert "faster" not in page


@pytest.mark.parametrize("reason", [{"image_url": "org/image:latest"}, {"accuracy": 0.1}])
def test_curves_of_scaling_leave_out_what_has_no_ratio(warehouse: Warehouse, reason: dict[str, Any]) -> None:
    curve = [a.record(f"nodes-{nodes}", node_count=nodes) for nodes in (1, 2)]
    without = [a.record(f"other-{nodes}", node_count=nodes, flavor="f2", **reason) for nodes in (1, 2)]
    warehouse.rebuild([*curve, *without])

    alone, both = (
        reports(warehouse).write([run.run.run_id for run in runs], ReportLanguage.EN)
        for runs in (curve, [*curve, *without])
    )

    assert both.count("Throughput over nodes") == alone.count("Throughput over nodes") > 0


def test_a_missed_target_is_said_first_and_beside_the_accuracy(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000], "good"), *a.records([9000], "useless", accuracy=0.1)])

    page = reports(warehouse).write(["good-0", "useless-0"], ReportLanguage.EN)

    assert "1 valid run missed its target accuracy (№ 2; modelarts.kat1.8xlarge): 10 %, target 75.9 %" in page
    assert page.count('<span class="fail">target missed</span>') == 1


def test_a_workload_without_a_target_accuracy_is_named(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("one", facts=replace(a.FACTS, accuracy_target=None))])

    page = reports(warehouse).write(["one"], ReportLanguage.EN)

    assert "No target accuracy is stated: mindspore_resnet" in page


def test_a_configuration_is_one_row_over_all_series(warehouse: Warehouse) -> None:
    runs = a.records([8000.0, 8100.0, 8050.0, 8070.0], "again")
    warehouse.record_many([replace(r, run=replace(r.run, series_id=f"s-{n // 2}")) for n, r in enumerate(runs)])

    page = reports(warehouse).write([run.run.run_id for run in runs], ReportLanguage.EN)

    overall, per_series = (table for table in tables(page) if "Olympic mean" in table)
    assert "4 / 5" in overall
    assert "8,055" in overall
    assert per_series.count("2 / 5") == 2


def test_hostile_names_are_printed_as_they_read_and_load_nothing(warehouse: Warehouse) -> None:
    run = a.record("one", flavor=HOSTILE, created_by=HOSTILE, parameters={"epoch_size": 90, "x": HOSTILE})
    warehouse.record(replace(run, described=stated_of({"submitter": HOSTILE})))

    printed = "".join(pages(reports(warehouse).write_pdf(["one"], ReportLanguage.BOTH)))

    assert "alert(1)" in printed
    assert "{{ 7 * 7 }}" in printed
    assert "49" not in printed.split("Identification", 1)[0]


def test_a_page_that_would_load_something_is_not_helped() -> None:
    printed = pdf.print_page('<html><body><img src="http://127.0.0.1:1/x.png" alt="no picture"/>text</body></html>')

    assert "text" in pages(printed)[0]


def test_chinese_letters_that_no_font_has_are_an_error_that_names_them_and_a_font() -> None:
    # A private letter stands for what no font has: only Chinese ones matter, so that an emoji does not stop a report.
    assert pages(pdf.print_page("<html><body>fine \ue123</body></html>"))
    with pytest.raises(ConfigError, match=r"names: \u9ffe\u9ffd.*fonts-wqy-microhei"):
        pdf.print_page("<html><body>\u9ffe \u9ffd</body></html>")


def test_a_ratio_has_no_negative_end_and_a_small_difference_is_none() -> None:
    one, other = Side("a", "r2.1", "8 × 8 snt9b", 3), Side("b", "r2.0", "8 × 8 snt9b", 3)
    wide = compare_means([100.0, 300.0, 10.0], [50.0, 1.0, 20.0])
    small = compare_means([100.0, 101.0, 99.0], [100.0, 101.5, 99.0])
    tiny = compare_means([1000.0, 1000.01, 999.99], [999.8, 999.81, 999.79])
    assert wide is not None
    assert small is not None
    assert tiny is not None

    assert wide.ratio[1] > 0
    assert "r2.1 is 0.020 % slower than r2.0" in str(difference_sentence(tiny, one, other)), "0.0 % would say nothing"
    assert str(difference_sentence(small, one, other)).startswith("No difference between r2.1 and r2.0 on 8 × 8 snt9b")


def test_numbers_are_joined_to_ranges_and_sorted_as_numbers() -> None:
    assert format_ranges([5, 1, 2, 3, 9, 8]) == "1–3, 5, 8–9"
    assert sorted(["r1.10", "r1.9", "", "r10"], key=lambda name: make_natural_key([name])) == [
        "",
        "r1.9",
        "r1.10",
        "r10",
    ]
    assert join_few(["a", "b", "a", "c", "d"]) == "a; b; c; …"
