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
    "lab": "Laboratory, customer, item and method",
    "number_of_report": "Report number",
    "draft": "draft",
    "draft_long": "DRAFT – NOT ISSUED",
    "details_laboratory_name": "Laboratory",
    "details_laboratory_address": "Address",
    "details_place_of_test": "Place of test",
    "details_customer_name": "Customer",
    "details_customer_contact": "Contact",
    "details_item": "Item tested",
    "details_item_ids": "Serial or inventory numbers",
    "details_item_condition": "Condition",
    "details_received_on": "Received on",
    "details_deviations": "Deviations from the method",
    "details_additions": "Additions to the method",
    "details_exclusions": "Exclusions from the method",
    "details_external_providers": "External providers",
    "details_selection_rule": "Selection rule",
    "details_decision_rule": "Decision rule",
    "selection_default": "every run of each series; statistics are over the valid runs",
    "methods": "Method, edition, source",
    "software": "Software",
    "amends": "Amends report",
    "items_only": "The results relate only to the items tested.",
    "conformity": "Measurement uncertainty and conformity",
    "quantity": "Quantity",
    "n_runs": "Runs",
    "expanded": "Expanded uncertainty U (95 %)",
    "between_runs": "u between runs",
    "between_nodes": "u between nodes",
    "clock": "u of the clock",
    "limit": "Limit, at least",
    "conformity_statement": "Conformity",
    "risk": "Risk",
    "no_uncertainty": "not stated: a single run",
    "not_measured_short": "not measured",
    "conformity_pass": "pass",
    "conformity_conditional_pass": "conditional pass",
    "conformity_conditional_fail": "conditional fail",
    "conformity_fail": "fail",
    "uncertainty_how": "Standard uncertainties u, combined as the root of the sum of their squares (JCGM 100); "
    "U = k·u, with k of Student's t for the effective degrees of freedom (Welch–Satterthwaite). Between runs: s / √n "
    "of the valid runs. Between nodes: mean × the root mean square of each run's s / mean over its N nodes, / √N. "
    "Clock: mean × the largest difference of clocks / duration / √3, an upper bound.",
    "rule_guarded": "Decision rule: pass if the value − U is at least the limit, fail if the value + U is below it; in "
    "between, conditional (guard band w = U, ILAC-G8:09/2019).",
    "rule_simple": "Decision rule: pass if the value is at least the limit (simple acceptance, ILAC-G8:09/2019).",
    "risk_how": "Risk: the probability that the true value lies on the other side of the limit (specific risk, "
    "JCGM 106).",
    "attempts": "Attempts of the series",
    "disclosure": "Disclosure",
    "not_stated_because": "not stated, because",
    "status": "Status of this report",
    "prepared": "Prepared (UTC)",
    "authorised": "Authorised (UTC)",
    "not_authorised": "not authorised",
    "amended_by": "AMENDED BY REPORT",
    "withdrawn": "WITHDRAWN",
    "console_signature": "Signature of the console",
    "signature_good": "valid",
    "signature_bad": "INVALID",
    "content_sha256": "SHA-256 of content.json, the report for programs",
    "end_of_report": "End of the report",
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
