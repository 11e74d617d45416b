"""What the report says of validity: every check of every run, and those of the series that runs belong to."""

from collections.abc import Iterator, Mapping, Sequence

from aisbench_core.formats import MISSING
from aisbench_core.report.markup import Markup, element
from aisbench_core.report.tables import cell, table
from aisbench_core.report.words import Speaker
from aisbench_core.warehouse.exporting.reported import ReportedRun
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import Check

MOST_LETTERS = 600
"""Of what a check expected or found; exports and `aisbench validate --json` have all of it."""


def of_runs(runs: Sequence[ReportedRun], say: Speaker) -> Iterator[Markup]:
    """Each run with its verdict."""
    yield element("h2", say("checks"))
    for run in runs:
        judged_by = (" · ", *ruleset(run.cells, say)) if run.cells["ruleset_id"] else ()
        yield element("h3", run.cells["run_id"], ": ", say(run.cells["validity"]), *judged_by)
        yield _table(run.checks, say) if run.checks else element("p", say("no_checks"), class_="quiet")


def of_series(series: Sequence[SeriesVerdict], say: Speaker) -> Iterator[Markup]:
    """Each row of the series, over all of its runs, also those that the report leaves out."""
    if series:
        yield element("h2", say("series_checks"))
    for each in series:
        parts = (
            each.series_id,
            f"{say.plain('nodes')}: {each.node_count or MISSING}",
            each.framework_version,
            each.image,
        )
        title = " · ".join(part for part in parts if part)
        judged_by = ruleset({"ruleset_id": each.ruleset_id, "ruleset_basis": each.ruleset_basis}, say)
        yield element("h3", title, ": ", say("counts" if each.counts else "counts_not"), " · ", *judged_by)
        yield _table(each.checks, say)


def ruleset(cells: Mapping[str, str | None], say: Speaker) -> Iterator[str]:
    """A ruleset's id and, beside it, whether its rules were inferred."""
    yield cells["ruleset_id"] or ""
    if basis := cells["ruleset_basis"]:
        yield from (" (", say.sentence(basis), ")")


def counting(counts: bool | None, say: Speaker) -> Markup:
    """Whether the runs of a series may be taken together; nothing where there is no series."""
    if counts is None:
        return cell(None)
    return cell(say("counts" if counts else "counts_not"), None if counts else "fail")


def _table(checks: Sequence[Check], say: Speaker) -> Markup:
    return table(
        list(map(say, ("check", "level", "expected", "found", "evidence"))),
        [
            (
                cell(check.id),
                cell(say(check.level), str(check.level)),
                *(
                    cell(say.sentence(text, MOST_LETTERS) if text else "")
                    for text in (check.expected, check.found, check.evidence)
                ),
            )
            for check in checks
        ],
    )
