"""The report as a page: what stands in which section."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aisbench_core.formats import MISSING, decimal, nodes_and_cards
from aisbench_core.model import SYSTEM_FIELDS
from aisbench_core.report.checks import counting, of_runs, of_series, ruleset
from aisbench_core.report.drawn import by_unit, charts_of
from aisbench_core.report.markup import Markup, element, joined
from aisbench_core.report.style import STYLE
from aisbench_core.report.tables import (
    cell,
    clipped,
    listing,
    moment,
    numeral,
    share,
    table,
    with_unit,
)
from aisbench_core.report.words import ReportLanguage, Speaker
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is loaded and nothing runs, whatever somebody puts into a name."""

CONFIGURATION = (
    "workload", "engine_version", "accelerator", "flavor", "pool_type",
    "mode", "dataset_name", "throughput_definition", "throughput_aggregation",
)  # fmt: skip
PERIODS = ("queue_s", "prepare_s", "dataload_s", "proc_s", "total_s", "platform_duration_s")
MEASURED = {"average_power_w": "W", "max_power_w": "W", "energy": "", "npu_util_avg_pct": "%", "rank_cv_pct": "%"}
NODES = "number_of_nodes"
HASHES = ("spec_sha256", "code_sha256", "dataset_sha256", "record_sha256")


@dataclass(frozen=True, slots=True)
class Report:
    """What a report is made of."""

    reported: Reported
    data_sha256: str
    written_at: datetime
    language: ReportLanguage

    @property
    def is_rehearsal(self) -> bool:
        """Whether its numbers are no measurements."""
        return any(run.cells["rehearsal"] for run in self.reported.runs)


def page(report: Report) -> str:
    """The whole page, self-contained: no script, nothing to load."""
    say = Speaker(report.language)
    title = say.plain("title")
    style = STYLE % {
        "title": title,
        "mark": say.plain("rehearsal") if report.is_rehearsal else "",
        "report": report.reported.report_id,
    }
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width">'),
        element("title", f"{title} · {report.reported.report_id}"),
        element("style", Markup(style)),
    )
    body = element("body", *_sections(report, say))
    language = "zh" if report.language is ReportLanguage.ZH else "en"
    return f"<!doctype html>\n{element('html', head, body, lang=language)}\n"


def _sections(report: Report, say: Speaker) -> Iterator[Markup]:
    runs = report.reported.runs
    if report.is_rehearsal:
        yield element("div", say("rehearsal"), class_="watermark", aria_hidden="true")
    yield element("h1", say("title"))
    if report.is_rehearsal:
        yield element("p", say("rehearsal_long"), class_="mark")
    yield from _identification(report, say)
    yield from _results(runs, say)
    yield from _statistics(report.reported.groups, say)
    yield from charts_of(report.reported, say)
    yield from _configurations(runs, say)
    yield from _systems(runs, say)
    yield from _measurements(runs, say)
    yield from of_series(report.reported.series, say)
    yield from of_runs(runs, say)
    yield from _hashes(report, say)


def _identification(report: Report, say: Speaker) -> Iterator[Markup]:
    runs = report.reported.runs
    begun = [run.cells["created_at_utc"] for run in runs]
    stated = {
        "test_id": [run.cells["test_id"] for run in runs],
        "submitter": [run.system.get("submitter") for run in runs],
        "created_by": [run.cells["created_by"] for run in runs],
        "region": [run.cells["region"] for run in runs],
        "division": [run.cells["division"] for run in runs],
        "scenario": [run.cells["scenario"] for run in runs],
        "ruleset_id": [joined(*ruleset(run.cells, say)) for run in runs],
        "origin": [run.cells["origin"] for run in runs],
    }
    yield element("h2", say("identification"))
    yield listing(
        [
            (say("report_id"), cell(report.reported.report_id, "code")),
            *((say(name), _each(values)) for name, values in stated.items()),
            (say("period"), f"{moment(min(begun))} – {moment(max(begun))}"),
            (say("written"), moment(report.written_at.astimezone(UTC))),
            (say("runs"), len(runs)),
            (say("runs_valid"), sum(run.cells["validity"] == "valid" for run in runs)),
        ]
    )
    yield element("p", say("signature"), class_="sign")


def _results(runs: Sequence[ReportedRun], say: Speaker) -> Iterator[Markup]:
    yield element("h2", say("results"))
    heads = ("run_id", "model_name", "flavor", "size")
    for unit, some in by_unit(runs):
        measured = [with_unit(say(f"throughput_{name}"), unit) for name in ("cluster", "per_node", "per_card")]
        yield table(
            [*map(say, heads), *measured, say("accuracy"), with_unit(say("platform_duration_s"), "s"), say("validity")],
            [_result(run.cells, say) for run in some],
        )
    if any(run.cells["synthetic_data"] for run in runs):
        yield element("p", f"* {say.plain('synthetic')}", class_="quiet")


def _result(cells: Cells, say: Speaker) -> Sequence[Markup]:
    mark = " *" if cells["synthetic_data"] else ""
    return (
        cell(cells["run_id"], "run"),
        cell(f"{clipped(cells['model_name'] or MISSING)}{mark}, {clipped(_version(cells) or MISSING)}", "name"),
        cell(clipped(_hardware(cells), 40), "flavor"),
        cell(_size(cells)),
        numeral(cells["throughput_cluster"]),
        numeral(cells["throughput_per_node"]),
        numeral(cells["throughput_per_card"]),
        share(cells["accuracy"]),
        numeral(cells["platform_duration_s"]),
        cell(say(cells["validity"]), None if cells["validity"] in ("valid", "claimed") else "fail"),
    )


def _statistics(groups: Sequence[Cells], say: Speaker) -> Iterator[Markup]:
    counted = [group for group in groups if group["runs_valid"]]
    if not counted:
        return
    yield element("h2", say("statistics"))
    names = ("median", "mean", "olympic_mean", "sd")
    yield table(
        [say("configuration"), say("n"), say("runs_required"), *map(say, names), say("cv_pct"), say("ci95"),
         say("efficiency_pct"), say("series_verdict")],
        [
            (
                cell(_group(group), "run"),
                numeral(group["runs_valid"], 1),
                cell(group["runs_required"], "number"),
                *(numeral(group[name]) for name in names),
                numeral(group["cv_pct"], 4, " %"),
                cell(_interval(group)),
                numeral(group["efficiency_pct"], 4, " %"),
                counting(group["series_counts"], say),
            )
            for group in counted
        ],
    )  # fmt: skip
    dropped = [f"{_group(group)}: {group['dropped_run_ids']}" for group in counted if group["dropped_run_ids"]]
    if dropped:
        yield element("p", say("dropped_run_ids"), ": ", "; ".join(dropped), class_="quiet")


def _configurations(runs: Sequence[ReportedRun], say: Speaker) -> Iterator[Markup]:
    yield element("h2", say("configuration"))
    alike: defaultdict[tuple[object, ...], list[ReportedRun]] = defaultdict(list)
    for run in runs:
        told = (run.cells[name] for name in ("model_name", *CONFIGURATION, "hyperparameters_json"))
        alike[(_version(run.cells), *told)].append(run)
    for some in alike.values():
        cells = some[0].cells
        yield element("h3", _named(some))
        first = (("size", _each([_size(run.cells) for run in some])), ("model", cells["model_name"]))
        named = (*first, ("framework", _version(cells)), *((name, cells[name]) for name in CONFIGURATION))
        yield listing([(say(name), value) for name, value in named])
        given = json.loads(cells["hyperparameters_json"] or "{}")
        if given:
            yield element("p", say("parameters"))
            values = [(name, cell(json.dumps(value, ensure_ascii=False), "code")) for name, value in given.items()]
            yield listing(values)


def _systems(runs: Sequence[ReportedRun], say: Speaker) -> Iterator[Markup]:
    """Systems that differ in nothing but the number of their nodes are one table."""
    yield element("h2", say("system"))
    alike: defaultdict[str, list[ReportedRun]] = defaultdict(list)
    for run in runs:
        alike[json.dumps({**run.system, NODES: NODES in run.system}, sort_keys=True)].append(run)
    for some in alike.values():
        system = {**some[0].system, NODES: _each([run.system.get(NODES) for run in some])}
        yield element("h3", _named(some))
        yield listing([(say.field(name), system[name]) for name in SYSTEM_FIELDS if system.get(name)])
        missing = [say.field(name) for name in SYSTEM_FIELDS if not system.get(name)]
        if missing:
            listed = (part for name in missing for part in ("; ", name))
            count = f" ({len(missing)}/{len(SYSTEM_FIELDS)}): "
            yield element("p", say("not_stated"), count, *list(listed)[1:], class_="quiet")


def _measurements(runs: Sequence[ReportedRun], say: Speaker) -> Iterator[Markup]:
    yield element("h2", say("measurements"))
    for units in (dict.fromkeys(PERIODS, "s"), MEASURED):
        heads = (with_unit(say(name), unit) for name, unit in units.items())
        rows = [(cell(run.cells["run_id"], "run"), *(numeral(run.cells[name], 4) for name in units)) for run in runs]
        yield table([say("run_id"), *heads], rows)


def _hashes(report: Report, say: Speaker) -> Iterator[Markup]:
    yield element("h2", say("hashes"))
    for run in report.reported.runs:
        yield element("h3", run.cells["run_id"])
        yield listing([(say(name), cell(run.cells[name], "hash")) for name in HASHES])
    yield element("h3", say("data_sha256"))
    yield listing([(say("data_sha256"), cell(report.data_sha256, "hash"))])
    yield element("p", say("data_sha256_how"), class_="quiet")


def _group(group: Cells) -> str:
    series = f"{group['series_id']}: " if group["series_id"] else ""
    parts = (group["model_name"], _version(group), _hardware(group), _size(group))
    return series + " · ".join(clipped(part) for part in parts if part)


def _interval(group: Mapping[str, float | None]) -> str | None:
    low, high = group["ci95_low"], group["ci95_high"]
    return None if low is None or high is None else f"{decimal(low)} – {decimal(high)}"


def _size(cells: Cells) -> str:
    return nodes_and_cards(cells["node_count"], cells["cards_per_node"])


def _hardware(cells: Cells) -> str:
    """The instance type; of a pool, or where no instance type is known, the accelerator beside the pool."""
    return cells["flavor"] or " · ".join(part for part in (cells["pool_id"], cells["accelerator"]) if part)


def _version(cells: Cells) -> str:
    return " ".join(part for part in (cells["framework"], cells["framework_version"]) if part)


def _named(runs: Sequence[ReportedRun]) -> str:
    return ", ".join(run.cells["run_id"] for run in runs)


def _each(values: Sequence[object]) -> Markup:
    """Every value that is said, once."""
    said = dict.fromkeys(value if isinstance(value, Markup) else str(value) for value in values if value)
    separated = (part for value in said for part in (", ", value))
    return joined(*list(separated)[1:])
