"""Reports on runs: which runs, their data, and the page, from the templates in this folder."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aisbench_core.base.errors import Problem, RunNotFound, SpecError
from aisbench_core.base.formats import MISSING, clip_text, format_decimal, format_number, format_percent
from aisbench_core.base.messages import Message
from aisbench_core.exchange.report import cells, charts, pdf, view, words
from aisbench_core.exchange.report.lab_section import LabInput, LabSection, build_lab_section, group_counted
from aisbench_core.exchange.report.view import report_view
from aisbench_core.exchange.report.words import MAX_RUNS, ReportLanguage, get_plain_label
from aisbench_core.model import Clock, canonical_json
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.warehouse.exporting.reported import Reported
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, Check

if TYPE_CHECKING:
    from jinja2 import Environment


SMALLEST_RISK = 0.0001


class Reports:
    """Writes reports about stored runs. Thread-safe."""

    def __init__(
        self, warehouse: Warehouse, clock: Clock, head: Callable[[], SignedHead | None] = lambda: None
    ) -> None:
        """`head`: the audit's, which each report holds."""
        self._warehouse = warehouse
        self._head = head
        self._clock = clock

    def list_chosen(self, query: BoardQuery) -> list[str]:
        """The ids of the query's runs. Raises SpecError when there are none, or too many for a report."""
        page = self._warehouse.runs.list_rows(
            replace(query, sort="created_at", descending=False, limit=MAX_RUNS, offset=0)
        )
        if not page.rows:
            raise _spec_error(Message("no run fits the filter"), query.region)
        if page.total > MAX_RUNS:
            message = Message("a report is about {most_runs} runs at most: choose fewer", most_runs=MAX_RUNS)
            raise _spec_error(message, str(page.total))
        return [row.run_id for row in page.rows]

    def check_pdf(self) -> None:
        """Raises ConfigError if this machine lacks what prints reports as PDF."""
        pdf.check_printing()

    def write_pdf(
        self,
        run_ids: Sequence[str],
        language: ReportLanguage,
        ruleset_id: str = "",
        *,
        full: bool = False,
        query: BoardQuery | None = None,
    ) -> bytes:
        """The same as PDF. Raises also ConfigError where the machine lacks what prints it."""
        return pdf.print_page(self.write(run_ids, language, ruleset_id, full=full, query=query))

    def write(
        self,
        run_ids: Sequence[str],
        language: ReportLanguage,
        ruleset_id: str = "",
        *,
        full: bool = False,
        query: BoardQuery | None = None,
    ) -> str:
        """The report as HTML; `ruleset_id`: whose verdicts count, those that are stored by default. `full`: with every
        value, check and hash of each run in place of the short appendix. `query`: what selected the runs, for the
        first page.

        Raises RunNotFound, and SpecError on too many runs or on runs of several kinds."""
        found = self.build_view(run_ids, language, ruleset_id, query=query)
        return render_page(found, language, full=full)

    def build_view(
        self,
        run_ids: Sequence[str],
        language: ReportLanguage,
        ruleset_id: str = "",
        *,
        query: BoardQuery | None = None,
        lab: LabInput | None = None,
    ) -> view.ReportView:
        """What a report shows; `lab`: what makes it a lab's. Raises as `write` does."""
        unique_ids = list(dict.fromkeys(run_ids))
        if not 1 <= len(unique_ids) <= MAX_RUNS:
            raise _spec_error(Message("must be 1 to {most_runs}", most_runs=MAX_RUNS), str(len(unique_ids)))
        now = self._clock()
        reported = self._warehouse.fetch_reported(unique_ids, now.astimezone(UTC), ruleset_id)
        unknown = {*unique_ids} - {run.cells["run_id"] for run in reported.runs}
        if unknown:
            raise RunNotFound(
                Message("no such run: {unknown}", unknown=", ".join(sorted(unknown))),
                Message("aisbench runs lists those that there are"),
            )
        kinds = {(run.cells["region"], run.cells["rehearsal"]) for run in reported.runs}
        if len(kinds) > 1:
            listed = ", ".join(sorted(f"{region}{' (rehearsals)' if is_one else ''}" for region, is_one in kinds))
            raise _spec_error(Message("must be of one region, and either measurements or rehearsals"), listed)
        [(region, rehearsal)] = kinds
        fingerprints = [run.cells["fingerprint"] for run in reported.runs]
        distinctions = self._warehouse.board.find_distinctions(region, fingerprints, rehearsal=rehearsal)
        report = report_view(reported, _hash_content(reported), now, get_plain_label("nodes", language), distinctions)
        groups = group_counted(reported, view.configuration_key) if lab else []
        section = build_lab_section(reported, groups, lab) if lab else None
        return replace(report, filters=filters_text(query) if query else "", lab=section, head=self._head())


def filters_text(query: BoardQuery) -> str:
    """What the query filters by, with the names of the leaderboard's URL, so that it can be selected again."""
    filters: dict[str, Iterable[object]] = {
        "region": [query.region],
        "model": query.models,
        "workload": query.workloads,
        "version": query.framework_versions,
        "flavor": query.flavors,
        "nodes": query.node_counts,
        "tag": query.tags,
        "origin": [query.origin],
        "benchmark": [query.fingerprint],
        "q": [query.text],
        "where": query.where,
        "worth": [query.validity],
        "invalid": [int(query.include_invalid)],
        "ruleset": [query.ruleset_id],
    }
    return " · ".join(f"{name}={value}" for name, values in filters.items() for value in values if value)


def _spec_error(message: Message, value: str) -> SpecError:
    return SpecError(Message("report"), [Problem("runs", message, value)])


def _hash_content(reported: Reported) -> str:
    return hashlib.sha256(canonical_json(plain_content(reported)).encode()).hexdigest()


def plain_content(reported: Reported) -> dict[str, Any]:
    """Everything that a report shows, except when it was written."""
    return {
        "runs": [
            {
                "cells": _plain_cells(run.cells),
                "system": run.system,
                "tester": run.tester,
                "checks": _list_checks(run.checks),
                "ranks": [[rank.server, rank.rank, rank.throughput] for rank in run.ranks],
            }
            for run in reported.runs
        ],
        "groups": [_plain_cells(group) for group in reported.groups],
        "series": [
            [row.series_id, row.node_count, row.framework_version, row.image, row.run_ids, _list_checks(row.checks)]
            for row in reported.series
        ],
    }


def _list_checks(checks: Sequence[Check]) -> list[list[str]]:
    return [[check.id, check.level, check.expected, check.found, check.evidence] for check in checks]


def _plain_cells(row: Any) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
        if name not in ("exported_at_utc", "audit_head")
    }


TEMPLATES = Path(__file__).parent / "templates"


def render_page(report: view.ReportView, language: words.ReportLanguage, *, full: bool) -> str:
    """One self-contained page: no script, nothing to load."""
    return render_template("report.html.jinja", report=report, language=language.value, full=full)


def render_template(name: str, **values: object) -> str:
    """A template with these values."""
    page = make_environment().get_template(name).render(**values)
    # Characters that command terminals or reorder text become visible. Done here once, so that no value is missed;
    # templates have none of them.
    return "\n".join(line if line.isprintable() else _replace_controls(line) for line in page.split("\n"))


@cache
def make_environment() -> "Environment":
    """Templates that escape every value, and raise UndefinedError on an unknown name."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # takes 40 ms, and most commands need no report

    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    filters = (
        clip_text,
        format_decimal,
        format_number,
        format_percent,
        cells.describe_software,
        cells.describe_hardware,
        cells.describe_size,
        cells.group_title,
    )
    jinja.filters |= {function.__name__: function for function in filters}
    jinja.filters["utc"] = "{:%Y-%m-%d %H:%M:%S}".format
    jinja.globals |= {
        function.__name__: function for function in (words.translate_label, words.field_label, words.translate_sentence)
    }
    jinja.globals |= {"methods_of": _list_methods, "stated_label": _label_of_source, "risk_text": _format_risk}
    jinja.globals |= {"font_url": _font_url, "plain": words.get_plain_label, "MISSING": MISSING, "WIDTH": charts.WIDTH}
    return jinja


def _list_methods(lab: LabSection) -> list[str]:
    return [f"{title}: {edition} ({source})" for title, edition, source in lab.given.methods]


def _format_risk(risk: float) -> str:
    return format_percent(risk) if risk >= SMALLEST_RISK else f"< {format_percent(SMALLEST_RISK)}"


def _label_of_source(kind: str, name: str) -> tuple[str, str] | None:
    """What a value of the disclosure is called; None where the item's title says it."""
    if kind == "system":
        return words.field_label(name)
    return words.translate_label(name) if kind == "columns" else None


@cache
def _font_url(file: str) -> str:
    """The font itself: a report looks the same wherever it is read. `make fonts` makes the files."""
    content = (Path(__file__).parent / "fonts" / f"{file}.woff2").read_bytes()
    return f"data:font/woff2;base64,{base64.b64encode(content).decode()}"


def _replace_controls(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line)
