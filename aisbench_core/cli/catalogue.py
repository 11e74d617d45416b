"""`aisbench workloads`, `profiles` and `health`: what there is, and whether it works."""

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core
from aisbench_core.errors import AisbenchError


@click.command()
@as_json
def workloads(as_json: bool) -> None:
    """List the workloads, and the manifests that cannot be used."""
    registry = open_core().workloads
    known = registry.all()
    heads = ("workload", "title", "model", "framework", "versions", "code")
    rows = [
        (
            each.name,
            each.title,
            each.model,
            each.framework,
            " ".join(each.versions),
            "shipped" if each.ships_code else "bring your own",
        )
        for each in known
    ]
    shown.answer(known, as_json, lambda: shown.table(heads, rows))
    for file, error in registry.problems():
        shown.talk(f"warning: {file.parent.name} cannot be used: {error}")


@click.command()
@as_json
def profiles(as_json: bool) -> None:
    """List the profiles: where runs can be sent, and whether keys are found."""
    core = open_core()
    default = core.settings.profile
    known = []
    for name in core.profile_names():
        try:
            known.append((core.profile(name), core.credentials_summary(name)))
        except AisbenchError as error:  # one broken file must not hide the others
            shown.talk(f"warning: profile {name} cannot be used: {error}")
    heads = ("profile", "region", "bucket", "flavor or pool", "kind", "keys")
    rows = [
        (
            f"{each.name} (default)" if each.name == default else each.name,
            each.region,
            each.bucket,
            each.flavor or each.pool_id or shown.MISSING,
            "rehearsal" if each.rehearsal else "measurement",
            keys,
        )
        for each, keys in known
    ]
    answers = [{**each.model_dump(mode="json"), "keys": keys, "default": each.name == default} for each, keys in known]
    shown.answer(answers, as_json, lambda: shown.table(heads, rows))
