"""`aisbench validate` and `aisbench ruleset`: what results are worth, by which rules."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading
from aisbench_core.cli.exit_codes import NOT_VALID, OUR_ERROR
from aisbench_core.cli.results.results import filters, query_of
from aisbench_core.errors import ConfigError, SpecError

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.rulesets.ruleset import Ruleset
    from aisbench_core.warehouse import BoardQuery, Judged, SeriesVerdict, Validation

LEVELS = ("fail", "warn")
OF_THE_END = (
    "Of a run that did not complete, `aisbench show RUN` says how it ended, and the end of `aisbench logs RUN` what it"
    " printed last."
)


@click.command()
@filters
@click.option("--ruleset", "ruleset_id", default="", help="Judge by this one; default: the ruleset of the settings.")
@click.option("--all", "every", is_flag=True, help="List valid and claimed runs without a warning, too.")
@click.option("--series", "of_series", is_flag=True, help="Judge series, each row by itself, in place of runs.")
@click.option("--store", is_flag=True, help="Keep these verdicts, in place of the stored ones.")
@as_json
@click.pass_context
def validate(ctx: click.Context, /, every: bool, of_series: bool, store: bool, as_json: bool, **chosen: Any) -> None:
    """Judge stored runs by a ruleset: each check that failed or warns, what it expected and found, and what to do.

    Nothing is stored without --store. Exit code 8 means that a run which completed is not valid.
    """
    from aisbench_core.warehouse import Validity

    core = (open_core if store else open_core_for_reading)()
    query = query_of(core, **chosen)
    if of_series:
        ctx.exit(_judge_series(core, query, as_json))
    found = core.warehouse.validate(query)
    rules = core.rulesets.get(found.ruleset_id)
    listed = [run for run in found.runs if every or not run.validity.counts or run.warned_checks]
    answer = _answer(found, listed, rules, core.rulesets.bases())
    shown.answer(answer, as_json, lambda: _table(found, listed, rules))
    _say(found, rules, core.warehouse.keep_verdicts(found) if store else None)
    if found.counts[Validity.INVALID]:
        ctx.exit(NOT_VALID)


def _judge_series(core: "Core", query: "BoardQuery", as_json: bool) -> int:
    """Show what the rules about series say; the exit code."""
    from aisbench_core.rulesets.ruleset import with_basis

    found = core.warehouse.series.among(query)
    shown.answer(
        [{**asdict(each), "runs": each.runs, "counts": each.counts} for each in found],
        as_json,
        lambda: _series_table(core, query, found),
    )
    counting = sum(each.counts for each in found)
    rules = core.rulesets.get(query.ruleset_id or core.settings.ruleset)
    judged_by = f", judged by {with_basis(rules.id, rules.basis)}" if rules.basis else ""
    shown.talk(f"{counting} of {len(found)} series count{judged_by}; each node count, version and image is one")
    return 0 if counting == len(found) else NOT_VALID


def _series_table(core: "Core", query: "BoardQuery", found: "Sequence[SeriesVerdict]") -> str:
    rules = core.rulesets.get(query.ruleset_id or core.settings.ruleset).rules
    rows = [
        (
            each.series_id,
            str(each.node_count),
            each.framework_version,
            check.id,
            str(check.level),
            check.expected,
            check.found,
            check.evidence,
            each.image,
        )
        for each in found
        for check in each.checks
        if check.level in LEVELS
    ]
    fixes = [f"{name}: {rules[name].fix}" for name in sorted({row[3] for row in rows}) if name in rules]
    heads = ("series", ">nodes", "version", "check", "level", "expected", "found", "evidence", "image")
    return "\n".join([shown.table(heads, rows), "", *fixes]) if rows else "every series counts"


@click.group()
def ruleset() -> None:
    """Show what results are judged by."""


@ruleset.command(name="list")
@as_json
@click.pass_context
def list_rulesets(ctx: click.Context, as_json: bool) -> None:
    """List the rulesets: shipped ones and those in data/rulesets. The setting `ruleset` names the one that decides.

    Those that cannot be used are named with the reason; the exit code is 1 then.
    """
    from aisbench_core.rulesets.ruleset import with_basis

    core = open_core_for_reading()
    known, damaged = [], []
    for ruleset_id in core.rulesets.ids():
        try:
            known.append(core.rulesets.get(ruleset_id))
        except (ConfigError, SpecError) as error:
            damaged.append(error)
    rows = [
        (
            each.id,
            each.title,
            each.edition,
            str(len(each.rules)),
            str(len(each.inferred)),
            each.basis,
        )
        for each in known
    ]
    heads = ("id", "title", "edition", ">rules", ">inferred", "basis")
    shown.answer([_named(each) for each in known], as_json, lambda: shown.table(heads, rows))
    judging = core.settings.ruleset
    shown.talk(f"{with_basis(judging, core.rulesets.bases().get(judging, ''))} judges what is recorded")
    for unusable in damaged:
        shown.talk(f"error: {unusable}")
    if damaged:
        ctx.exit(OUR_ERROR)


@ruleset.command()
@click.argument("ruleset_id", metavar="ID")
def show(ruleset_id: str) -> None:
    """Print a ruleset as YAML, to be kept as data/rulesets/NAME.yaml under another id, and changed."""
    core = open_core_for_reading()
    core.rulesets.get(ruleset_id)  # a file that cannot be used is refused
    click.echo(core.rulesets.text(ruleset_id), nl=False)


def _named(ruleset: "Ruleset") -> dict[str, object]:
    return {
        "id": ruleset.id,
        "title": ruleset.title,
        "edition": ruleset.edition,
        "source": ruleset.source,
        "sha256": ruleset.sha256,
        "rules": len(ruleset.rules),
        "inferred": list(ruleset.inferred),
        "basis": ruleset.basis,
    }


def _answer(
    found: "Validation", listed: list["Judged"], rules: "Ruleset", bases: Mapping[str, str]
) -> dict[str, object]:
    return {
        "ruleset_id": found.ruleset_id,
        "ruleset_basis": rules.basis,
        "ruleset_sha256": found.ruleset_sha256,
        "rehearsal": found.rehearsal,
        "counts": found.counts,
        "by_rule": {name: dict(zip(LEVELS, count, strict=True)) for name, count in found.by_rule.items()},
        "fixes": _fixes(found, rules),
        "runs": [_run(run, bases) for run in listed],
    }


def _run(run: "Judged", bases: Mapping[str, str]) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "validity": run.validity,
        "checks": [check for check in run.checks if check.level in LEVELS],
        "stored_validity": run.stored_validity,
        "stored_ruleset_id": run.stored_ruleset_id,
        "stored_ruleset_basis": bases.get(run.stored_ruleset_id, ""),
        "is_stored": run.is_stored,
    }


def _table(found: "Validation", listed: list["Judged"], rules: "Ruleset") -> str:
    """Every check that is not fulfilled, and below the table what to do about each rule."""
    rows = [line for run in listed for line in _lines(run)]
    if not rows:
        return (
            "every run is valid, or claimed"
            if any(run.validity == "claimed" for run in found.runs)
            else "every run is valid"
        )
    fixes = [f"{name}: {fix}" for name, fix in _fixes(found, rules).items()]
    heads = ("run", "validity", "check", "level", "expected", "found", "evidence")
    return "\n".join([shown.table(heads, rows), *([""] if fixes else []), *fixes])


def _fixes(found: "Validation", rules: "Ruleset") -> dict[str, str]:
    """What to do, by rule; about a run that did not complete there is something to see first."""
    from aisbench_core.warehouse.values import is_of_the_end

    fixes = {name: rules.rules[name].fix for name in found.by_rule if name in rules.rules}
    ended = {name for run in found.runs for name in run.failed_checks.split(";") if is_of_the_end(name, run.validity)}
    return fixes | {name: f"{OF_THE_END} {fixes.get(name, '')}".strip() for name in ended}


def _lines(run: "Judged") -> list[tuple[str, ...]]:
    wrong = [check for check in run.checks if check.level in LEVELS]
    told = [(check.id, str(check.level), check.expected, check.found, check.evidence) for check in wrong]
    return [(run.run_id, run.validity.label, *each) for each in told or [("",) * 5]]


def _say(found: "Validation", rules: "Ruleset", stored: int | None) -> None:
    from aisbench_core.rulesets.ruleset import with_basis

    told = ", ".join(f"{count} {worth.label}" for worth, count in found.counts.items() if count or worth != "claimed")
    kind = "rehearsals, not measurements; " if found.rehearsal else ""
    shown.talk(f"{kind}{len(found.runs)} runs judged by {with_basis(rules.id, rules.basis)}: {told}")
    differing = sum(not run.is_stored for run in found.runs)
    if stored is not None:
        shown.talk(f"{stored} verdicts stored")
    elif differing:
        shown.talk(f"{differing} of these verdicts are not the stored ones; --store keeps them")
