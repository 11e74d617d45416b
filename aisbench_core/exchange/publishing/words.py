"""The words of published leaderboards, in English and Chinese."""

from collections.abc import Mapping

from aisbench_core.base.messages import label_in_chinese

# In English; the Chinese is in the catalogue, as `publish.` and the key.
WORDS: Mapping[str, str] = {
    "title": "AISBench leaderboard",
    "board": "Configurations",
    "runs": "Runs",
    "all_runs": "All runs",
    "runs_of_row": "Runs of {name}",
    "skip": "To the table",
    "filter": "Filter",
    "filter_help": "Text in any column; pages are searched one after the other.",
    "previous": "Previous page",
    "next": "Next page",
    "page": "Page {page} of {pages}",
    "shown": "{first}–{last} of {total}",
    "found": "{count} found",
    "found_more": "The first {count} found",
    "none_found": "Nothing found",
    "unreadable": "{file} is missing or damaged: publish the leaderboard again.",
    "without_script": "The tables need JavaScript. Their content is also in leaderboard.parquet and runs.parquet.",
    "yes": "yes",
    "no": "no",
    "about_ranks": "Ranks are within one benchmark: same workload, model, data and parameters that affect speed, in "
    "one unit. 2–3: the intervals overlap, so the order is not certain. A single run has no interval: its rank is "
    "unconfirmed. A row that is mixed or unknown has neither interval nor rank.",
    "about_runs": "Runs are those that count. Not counted says how many of a row are invalid, incomplete or set aside.",
    "about_empty": "Empty is not measured. Times are UTC.",
    "files": "Data",
    "published": "Published {at} UTC by AISBench Console {version}",
    "rank": "Rank",
    "version": "Version",
    "hardware": "Hardware",
    "size": "Nodes × cards",
    "median": "Median",
    "low": "95 % from",
    "high": "to",
    "per_card": "Per card",
    "cv": "CV (%)",
    "accuracy": "Accuracy",
    "not_counted": "Not counted",
    "differs": "Differs in",
    "newest": "Newest",
    "note": "Note",
    "bundle": "Evidence",
    "unconfirmed": "unconfirmed",
    "claimed": "claimed, unverified",
    "scattered": "scattered: the mean says little",
    "missed": "target missed",
    "partly_missed": "target missed by some",
    "synthetic": "synthetic data: accuracy is not a measurement",
    "leaderboard_row": "Row",
    "throughput_unit": "Unit",
    "converged": "Target reached",
    "primary_metric": "Ranked by",
    "head": "Head of the audit: {head}",
}


def translate_word(key: str) -> tuple[str, str]:
    """A word in English and in Chinese."""
    return WORDS[key], label_in_chinese(f"publish.{key}", WORDS[key])
