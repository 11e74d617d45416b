"""The report's words, in English, Chinese or both side by side."""

from collections.abc import Mapping
from enum import StrEnum

from aisbench_core import messages
from aisbench_core.chinese import in_chinese
from aisbench_core.messages import Message, label_in_chinese
from aisbench_core.model import FIELDS
from aisbench_core.model.columns import by_exported
from aisbench_core.report.markup import Markup, element, joined
from aisbench_core.report.tables import clipped

MOST_RUNS = 200
"""More make a book, which nobody prints."""


class ReportLanguage(StrEnum):
    """What a report is written in."""

    EN = "en"
    ZH = "zh"
    BOTH = "both"


WORDS: Mapping[str, str] = {
    "title": "AI server training benchmark: test report",
    "rehearsal": "REHEARSAL – NOT A MEASUREMENT",
    "rehearsal_long": "These runs are rehearsals. None of these numbers is a measurement.",
    "synthetic": "synthetic data: accuracy is not a measurement",
    "identification": "Identification",
    "report_id": "Report",
    "submitter": "Laboratory / submitter",
    "created_by": "Tested by",
    "period": "Tested from – to (UTC)",
    "written": "Report written (UTC)",
    "runs": "Runs",
    "runs_valid": "of them valid",
    "signature": "Date, name, signature",
    "results": "Results",
    "model_name": "Model, framework",
    "size": "Nodes × cards",
    "throughput_per_node": "per node",
    "throughput_per_card": "per card",
    "platform_duration_s": "Duration",
    "valid": "valid",
    "claimed": "claimed, unverified",
    "invalid": "invalid",
    "incomplete": "incomplete",
    "statistics": "Statistics over the valid runs",
    "configuration": "Configuration",
    "runs_required": "required",
    "n": "n",
    "median": "Median",
    "mean": "Mean",
    "olympic_mean": "Olympic mean",
    "sd": "SD",
    "cv_pct": "CV",
    "ci95": "95 % interval of the mean",
    "efficiency_pct": "Scaling efficiency",
    "dropped_run_ids": "Left out of the olympic mean",
    "charts": "Charts",
    "chart_runs": "Throughput of each run",
    "chart_runs_legend": "Bars: valid runs dark, others light. Line and band: mean of the group and its 95 % interval.",
    "chart_scaling": "Throughput over nodes",
    "chart_scaling_legend": "Dots: median of the valid runs. Dashed: ideal from the smallest node count.",
    "chart_ranks": "Throughput of each card",
    "chart_ranks_legend": "Strokes: cards; long stroke: their median. The axis does not begin at 0.",
    "nodes": "Nodes",
    "system": "Tested system",
    "not_stated": "Not stated",
    "parameters": "Hyperparameters",
    "model": "Model",
    "measurements": "Times, power and utilisation",
    "created_at_utc": "Launched (UTC)",
    "rank_cv_pct": "CV over cards",
    "checks": "Validity checks",
    "check": "Check",
    "level": "Result",
    "expected": "Expected",
    "found": "Found",
    "evidence": "Evidence",
    "ok": "ok",
    "warn": "warning",
    "fail": "failed",
    "series_checks": "Rules about series",
    "series_verdict": "Series",
    "counts": "counts",
    "counts_not": "does not count",
    "no_checks": "nothing was checked",
    "hashes": "Hashes (SHA-256)",
    "dataset_sha256": "Data set",
    "data_sha256": "Data of this report",
    "data_sha256_how": "SHA-256 over the rows of runs and groups, the descriptions, checks and cards that this report "
    "shows, as JSON with sorted keys. Two reports on the same runs have the same.",
}
"""In English; the Chinese is in the catalogue, as `report.` and the key. Other keys are columns of the export."""


class Speaker:
    """Says words in the report's language; in both, English first."""

    def __init__(self, language: ReportLanguage) -> None:
        self.language = language

    def __call__(self, key: str) -> Markup:
        """A word of the report."""
        return self._said(*_pair(key))

    def plain(self, key: str) -> str:
        """The same as text without markup, for titles and charts."""
        english, chinese = _pair(key)
        by_language = {ReportLanguage.EN: english, ReportLanguage.ZH: chinese}
        return by_language.get(self.language, english if english == chinese else f"{english} {chinese}")

    def field(self, name: str) -> Markup:
        """The title of a field of the system description."""
        english = FIELDS[name].title or name
        return self._said(english, label_in_chinese(f"system.{name}.title", english))

    def sentence(self, english: str, most: int | None = None) -> Markup:
        """What the core says, such as what a check found; so many letters of it at most."""
        chinese = messages.in_chinese(english) if isinstance(english, Message) else in_chinese(english)
        if most is not None:
            english, chinese = clipped(english, most), clipped(chinese, most)
        return self._said(english, chinese)

    def _said(self, english: str, chinese: str) -> Markup:
        if self.language is ReportLanguage.EN or english == chinese:
            return joined(english)
        in_chinese = element("span", chinese, lang="zh")
        return in_chinese if self.language is ReportLanguage.ZH else joined(english, " ", in_chinese)


def _pair(key: str) -> tuple[str, str]:
    if key in WORDS:
        return WORDS[key], label_in_chinese(f"report.{key}", WORDS[key])
    column = by_exported()[key]
    return column.label, label_in_chinese(f"column.{column.name}", column.label)
