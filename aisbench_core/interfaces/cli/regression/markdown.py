"""The verdicts as Markdown, for GitHub's step summary or a note on a merge request."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.regression.report import RegressionReport
from aisbench_core.interfaces.cli.regression.text import change_interval, describe_sides, side_mean, withheld_text
from aisbench_core.warehouse.values import histories, trend_verdicts

HEAD = (
    "| metric | verdict | baseline | candidate | change | 95 % interval | adjusted p |\n|---|---|--:|--:|--:|--:|--:|"
)

# GitHub cuts a summary at 1 MiB and GitLab a note at a million characters; nobody reads more groups than these.
MOST_GROUPS = 50


def markdown_summary(report: RegressionReport) -> str:
    """The verdict as a heading, a table for each group that changed, and a folded one for each of the others."""
    groups = report.regressions.groups[:MOST_GROUPS]
    sections = [f"### Benchmarks: {report.regressions.outcome}", _quote_code(report.counts)]
    sections += ["\n\n".join(_iterate_lines(report, group)) for group in groups]
    if len(report.regressions.groups) > len(groups):
        sections.append(
            f"{len(report.regressions.groups) - len(groups)} more groups, none of them worse, are left out."
        )
    return "\n\n".join(sections) + "\n"


def _iterate_lines(report: RegressionReport, group: trend_verdicts.TrendVerdict) -> Iterator[str]:
    regression, name = group.verdict, report.name_of(group)
    changed = regression.outcome in ("regression", "improvement")
    if changed:
        yield f"**{regression.outcome}** · {_quote_code(name)}"
    else:
        code = escape(display.replace_controls(name))
        yield f"<details><summary>{regression.outcome} · <code>{code}</code></summary>"
    yield _quote_code(withheld_text(regression) or describe_sides(regression))
    if regression.metrics:
        yield _format_table(regression.metrics)
    if regression.within:
        yield "Within the newest version:"
        yield _format_table(regression.within)
    if not changed:
        yield "</details>"


def _format_table(metrics: Sequence[histories.MetricVerdict]) -> str:
    return "\n".join([HEAD, *(f"| {' | '.join(_iterate_cells(metric))} |" for metric in metrics)])


def _iterate_cells(metric: histories.MetricVerdict) -> Iterator[str]:
    yield metric.name
    yield f"**{metric.outcome}**" if metric.outcome == "regression" else str(metric.outcome)
    yield from (_escape_cell(side_mean(metric.name, side, metric.unit)) for side in (metric.baseline, metric.candidate))
    yield formats.format_change(metric.difference.change if metric.difference else None)
    yield change_interval(metric.difference)
    yield formats.p_value(metric.adjusted_p).replace("<", "&lt;")


def _escape_cell(text: str) -> str:
    # A unit is what a result file says. Unlike the rest of code, a bar ends a cell.
    return _quote_code(text).replace("|", "\\|") if re.search(r"[^\w .,/%()=+–-]", text) else text


def _quote_code(text: str) -> str:
    """Foreign text as code: nothing in it is markup, an image, a link or a mention that sends mail."""
    line = " ".join(display.replace_controls(text).split())
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"`{line}`"
