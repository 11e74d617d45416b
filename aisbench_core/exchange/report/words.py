"""The report's words in English and Chinese."""

from collections.abc import Mapping
from enum import StrEnum

from aisbench_core.base.messages import in_chinese, label_in_chinese
from aisbench_core.model import FIELDS
from aisbench_core.model.columns import by_exported
from aisbench_core.model.columns.statistics import STATISTICS

# Of one report. More is too long to print; exports have no limit.
MAX_RUNS = 200


class ReportLanguage(StrEnum):
    """What a report is written in; in both languages, English comes first."""

    EN = "en"
    ZH = "zh"
    BOTH = "both"


# In English; the Chinese is in the catalogue, as `report.` and the key. Other keys are columns of the export.
WORDS: Mapping[str, str] = {
    "title": "AI server training benchmark: test report",
    "rehearsal": "REHEARSAL – NOT A MEASUREMENT",
    "rehearsal_long": "These runs are rehearsals. None of these numbers is a measurement.",
    "synthetic": "synthetic data: accuracy is not a measurement",
    "identification": "Identification",
    "summary": "Summary",
    "appendix": "Appendix",
    "appendix_how": "What all runs share is said once; tables name runs by their number. Single values of each run: "
    "aisbench export (CSV with the same report number), or aisbench report --full.",
    "number": "No.",
    "run_and_record": "Run, its record (SHA-256)",
    "hardware": "Hardware",
    "medians": "Times, power and utilisation: medians of the valid runs",
    "differs": "Differs",
    "report_id": "Report",
    "submitter": "Laboratory / submitter",
    "created_by": "Tested by",
    "period": "Tested from – to (UTC)",
    "written": "Report written (UTC)",
    "runs": "Runs",
    "runs_valid": "of them valid",
    "filters": "Runs selected by",
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
    "set_aside": "set aside",
    "incomplete": "incomplete",
    "target_missed": "target missed",
    "scattered": "scattered: the mean says little",
    "statistics": "Statistics over the valid runs",
    "configuration": "Configuration",
    "n": "n / required",
    "ci95": "95 % interval of the mean",
    "efficiency_pct": "Scaling efficiency",
    "dropped_run_ids": "Left out of the olympic mean",
    "series_statistics": "Statistics per series",
    "charts": "Charts",
    "chart_groups": "Throughput of each configuration",
    "chart_groups_legend": "Bar: median of the valid runs, with the 95 % interval of their mean. Dots: runs.",
    "chart_runs": "Throughput of each run",
    "chart_runs_legend": "Bars: valid runs dark, others light. Line and band: mean of the group and its 95 % interval.",
    "chart_scaling": "Throughput over nodes",
    "chart_scaling_legend": "Dots: median of the valid runs. Dashed: ideal from the smallest node count.",
    "chart_ranks": "Throughput of each card",
    "chart_ranks_legend": "Strokes: cards; long stroke: their median. The axis does not begin at 0.",
    "nodes": "Nodes",
    "system": "Tested system",
    "not_stated": "Not stated",
    "not_measured": "Not measured",
    "without": "without",
    "parameters": "Hyperparameters",
    "model": "Model",
    "measurements": "Times, power and utilisation",
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
    "counts": "passed",
    "counts_not": "failed",
    "no_checks": "nothing was checked",
    "hashes": "Hashes (SHA-256)",
    "dataset_sha256": "Data set",
    "data_sha256": "Data of this report",
    "data_sha256_how": "SHA-256 over the rows of runs and groups, the descriptions, checks and cards that this report "
    "shows, as JSON with sorted keys. Two reports on the same runs have the same.",
    "audit_head": "Head of the audit",
    "audit_head_how": "Number and hash of the newest entry, time (UTC), key, signature. The console proves with "
    "`aisbench evidence check` that nothing up to it was removed or changed.",
}


_STATISTICS = {statistic.export_name: statistic for statistic in STATISTICS if statistic.label}


def translate_label(key: str) -> tuple[str, str]:
    """A word of the report, or the label of a column of an export, in English and Chinese."""
    if key in WORDS:
        return WORDS[key], label_in_chinese(f"report.{key}", WORDS[key])
    if statistic := _STATISTICS.get(key):
        return statistic.label, label_in_chinese(f"statistic.{statistic.name}", statistic.label)
    column = by_exported()[key]
    return column.label, label_in_chinese(f"column.{column.name}", column.label)


def field_label(name: str) -> tuple[str, str]:
    """The title of a field of the system description."""
    english = FIELDS[name].title or name
    return english, label_in_chinese(f"system.{name}.title", english)


def translate_sentence(text: str) -> tuple[str, str]:
    """What the core says, such as what a check found; the words of others are the same in both."""
    return text, in_chinese(text)


def get_plain_label(key: str, language: str) -> str:
    """A word of the report without markup, for titles and charts."""
    english, chinese = translate_label(key)
    by_language = {ReportLanguage.EN: english, ReportLanguage.ZH: chinese}
    return by_language.get(ReportLanguage(language), english if english == chinese else f"{english} {chinese}")
