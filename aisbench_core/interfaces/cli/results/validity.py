"""`aisbench validate` and `aisbench ruleset`: the validity of results, and the rules that decide it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.domain.rulesets.ruleset import Ruleset, with_basis
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import NOT_VALID, OUR_ERROR
from aisbench_core.interfaces.cli.options import Group, command, run_filters
from aisbench_core.interfaces.cli.results.results import query_of
from aisbench_core.warehouse.values.runs import BoardQuery, Check, SeriesEvaluation, Validity, is_of_the_end

if TYPE_CHECKING:
    from aisbench_core.warehouse.validity.validation import RunEvaluation, Validation
    from aisbench_core.wiring import Core

LEVELS = ("fail", "warn")
SEE_THE_RUN = "If a run did not complete, see `aisbench show RUN` and the end of `aisbench logs RUN` first."


# Said only where there are any.
RARE = (Validity.CLAIMED, Validity.SET_ASIDE)


@command()
@run_filters
@click.option("--ruleset", "ruleset_id", default="", metavar="ID", help="Ruleset; default: the one in the settings.")
@click.option("--all", "include_valid", is_flag=True, help="List valid and claimed runs without a warning, too.")
@click.option("--series", "of_series", is_flag=True, help="Check series, one per row, instead of runs.")
@click.option("--store", is_flag=True, help="Replace the stored validity of these runs.")
@click.pass_context
def validate(
    ctx: click.Context, /, include_valid: bool, of_series: bool, store: bool, as_json: bool, **filters: Any
) -> None:
    """Check stored runs against a ruleset, and list failed checks and warnings with advice.

    Nothing is stored without --store. The exit code is 8 if a completed run is not valid.
    """
    core = open_core(writing=store)
    query = query_of(core, **filters)
    if of_series:
        ctx.exit(_validate_series(core, query, as_json))
    validation = core.warehouse.validate(query)
    rules = core.rulesets.get(validation.ruleset_id)
    listed = [run for run in validation.runs if include_valid or not run.validity.counts or run.warned_checks]
    bases = core.rulesets.bases()
    answer = {
        **display.pick_fields(validation, "ruleset_id", "ruleset_sha256", "rehearsal", "counts"),
        "ruleset_basis": rules.basis,
        "by_rule": {name: dict(zip(LEVELS, count, strict=True)) for name, count in validation.by_rule.items()},
        "fixes": _collect_fixes(validation, rules),
        "runs": [
            {
                **display.pick_fields(run, "run_id", "validity", "stored_validity", "stored_ruleset_id", "is_stored"),
                "stored_ruleset_basis": bases.get(run.stored_ruleset_id, ""),
                "checks": _list_problems(run),
            }
            for run in listed
        ],
    }
    display.print_result(answer, as_json, lambda: _format_table(validation, listed, rules))
    _print_summary(validation, rules, core.warehouse.store_evaluations(validation, get_actor()) if store else None)
    if validation.counts[Validity.INVALID]:
        ctx.exit(NOT_VALID)


def _validate_series(core: Core, query: BoardQuery, as_json: bool) -> int:
    """Check series by the rules about series; returns the exit code."""
    rules = core.rulesets.get(query.ruleset_id or core.settings.ruleset)
    series_list = core.warehouse.series.among(query)
    answer = [{**asdict(series), "runs": series.runs, "counts": series.counts} for series in series_list]
    rows = [
        (series.series_id, str(series.node_count), series.framework_version, *_to_cells(check), series.image)
        for series in series_list
        for check in _list_problems(series)
    ]
    fixes = [f"{name}: {rules.rules[name].fix}" for name in sorted({row[3] for row in rows} & {*rules.rules})]
    heads = ("series", ">nodes", "version", "check", "level", "expected", "found", "evidence", "image")
    text = "\n".join([display.format_table(heads, rows), "", *fixes]) if rows else "every series counts"
    display.print_result(answer, as_json, lambda: text)
    counting = sum(series.counts for series in series_list)
    ruleset = f", by ruleset {with_basis(rules.id, rules.basis)}" if rules.basis else ""
    display.print_message(
        f"{counting} of {len(series_list)} series count{ruleset}; each node count, version and image is one series"
    )
    return 0 if counting == len(series_list) else NOT_VALID


ruleset = Group("ruleset", help="List and print rulesets.")


@ruleset.command("list")
@click.pass_context
def list_rulesets(ctx: click.Context, as_json: bool) -> None:
    """List the built-in rulesets and those in data/rulesets. The setting `ruleset` names the active one.

    If a ruleset cannot be used, the reason is printed and the exit code is 1.
    """
    core = open_core(writing=False)
    rulesets, errors = [], []
    for ruleset_id in core.rulesets.ids():
        try:
            rulesets.append(core.rulesets.get(ruleset_id))
        except (ConfigError, SpecError) as error:
            errors.append(error)
    names = ("id", "title", "edition", "source", "sha256", "inferred", "basis")
    answer = [{**display.pick_fields(ruleset, *names), "rules": len(ruleset.rules)} for ruleset in rulesets]
    columns: display.Columns[Ruleset] = {
        "id": lambda ruleset: ruleset.id,
        "title": lambda ruleset: ruleset.title,
        "edition": lambda ruleset: ruleset.edition,
        ">rules": lambda ruleset: str(len(ruleset.rules)),
        ">inferred": lambda ruleset: str(len(ruleset.inferred)),
        "basis": lambda ruleset: ruleset.basis,
    }
    display.print_result(answer, as_json, lambda: display.table_of(rulesets, columns))
    active = core.settings.ruleset
    display.print_message(f"active: {with_basis(active, core.rulesets.bases().get(active, ''))}")
    for damaged in errors:
        display.print_message(f"error: {damaged}")
    if errors:
        ctx.exit(OUR_ERROR)


@ruleset.command()
@click.argument("ruleset_id", metavar="ID")
def show(ruleset_id: str) -> None:
    """Print a ruleset as YAML. To change it, save it as data/rulesets/NAME.yaml with another id."""
    core = open_core(writing=False)
    core.rulesets.get(ruleset_id)  # refuses a file that cannot be used
    click.echo(core.rulesets.text(ruleset_id), nl=False)


def _format_table(validation: Validation, listed: list[RunEvaluation], rules: Ruleset) -> str:
    """Every failed check and warning, and below the table how to fix each."""
    rows = [
        (run.run_id, run.validity.label, *cells)
        for run in listed
        for cells in [*map(_to_cells, _list_problems(run))] or [("",) * 5]
    ]
    if not rows:
        claimed = any(run.validity == "claimed" for run in validation.runs)
        return "all runs are valid or claimed" if claimed else "all runs are valid"
    fixes = [f"{name}: {fix}" for name, fix in _collect_fixes(validation, rules).items()]
    heads = ("run", "validity", "check", "level", "expected", "found", "evidence")
    return "\n".join([display.format_table(heads, rows), *([""] if fixes else []), *fixes])


def _collect_fixes(validation: Validation, rules: Ruleset) -> dict[str, str]:
    """Advice by rule; for rules about incomplete runs, what to see first."""
    fixes = {name: rules.rules[name].fix for name in validation.by_rule if name in rules.rules}
    incomplete = {
        name for run in validation.runs for name in run.failed_checks.split(";") if is_of_the_end(name, run.validity)
    }
    return fixes | {name: f"{SEE_THE_RUN} {fixes.get(name, '')}".strip() for name in incomplete}


def _list_problems(checked: RunEvaluation | SeriesEvaluation) -> list[Check]:
    return [check for check in checked.checks if check.level in LEVELS]


def _to_cells(check: Check) -> tuple[str, ...]:
    return (check.id, str(check.level), check.expected, check.found, check.evidence)


def _print_summary(validation: Validation, rules: Ruleset, stored: int | None) -> None:
    counts = ", ".join(
        f"{count} {validity.label}" for validity, count in validation.counts.items() if count or validity not in RARE
    )
    kind = f"{display.REHEARSALS}; " if validation.rehearsal else ""
    runs = display.format_count(len(validation.runs), "run")
    display.print_message(f"{kind}{runs} checked by ruleset {with_basis(rules.id, rules.basis)}: {counts}")
    differing = sum(not run.is_stored for run in validation.runs)
    if stored is not None:
        display.print_message(f"validity of {display.format_count(stored, 'run')} stored")
    elif differing:
        display.print_message(f"{differing} of these differ from what is stored; use --store to replace it")
