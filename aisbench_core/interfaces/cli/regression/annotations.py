"""The verdicts as annotations: workflow commands that GitHub's runner reads from the output of a step."""

from collections.abc import Iterator

from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.regression.report import RegressionReport
from aisbench_core.interfaces.cli.regression.text import describe_sides, metric_sentence
from aisbench_core.warehouse.values import histories

# GitHub shows ten annotations of a kind for each step, and drops others without a word.
MOST_ANNOTATIONS = 10


def github_annotations(report: RegressionReport) -> Iterator[str]:
    """An error for each group that regressed; a warning if nothing could be tested, else a notice."""
    regressed = report.groups_with("regression")
    shown = regressed if len(regressed) <= MOST_ANNOTATIONS else regressed[: MOST_ANNOTATIONS - 1]
    for group in shown:
        yield _format_command("error", f"Regression: {report.name_of(group)}", _format_details(group.verdict))
    if len(regressed) > len(shown):
        yield _format_command("error", "Regression", f"{len(regressed) - len(shown)} more groups regressed")
    if not regressed:
        level = "warning" if report.regressions.outcome == "not enough data" else "notice"
        yield _format_command(level, f"Benchmarks: {report.regressions.outcome}", report.counts)


def _format_details(regression: histories.RegressionVerdict) -> str:
    metrics = (metric for metric in (*regression.metrics, *regression.within) if metric.outcome == "regression")
    return "\n".join([*(f"{metric.name}: {metric_sentence(metric)}" for metric in metrics), describe_sides(regression)])


def _format_command(level: str, title: str, message: str) -> str:
    name = _escape_text(display.replace_controls(title)).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{_escape_text(display.replace_controls(message))}"


def _escape_text(text: str) -> str:
    # As the runner decodes them: a raw line break would end the command, and the next line could begin another.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
