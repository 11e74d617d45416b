"""`aisbench workloads`, `profiles` and `health`: what there is, and whether it works."""

from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core_for_reading, profile_option
from aisbench_core.cli.exit_codes import CLOUD_UNAVAILABLE
from aisbench_core.errors import AisbenchError

if TYPE_CHECKING:
    from aisbench_core.health import Health, ServiceHealth


@click.command()
@as_json
def workloads(as_json: bool) -> None:
    """List the workloads, and the manifests that cannot be used."""
    registry = open_core_for_reading().workloads
    known = registry.all()
    heads = ("workload", "title", "model", "framework", "versions", "code")
    rows = [
        (
            each.name,
            each.title,
            each.model,
            each.framework,
            " ".join(each.versions),
            ("yours" if each.is_own else "shipped") if each.ships_code else "bring your own",
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
    core = open_core_for_reading()
    default = core.settings.profile
    known = []
    for name in core.regions.names():
        try:
            known.append((core.regions.profile(name), core.regions.credentials_summary(name)))
        except AisbenchError as error:  # one broken file must not hide the others
            shown.talk(f"warning: profile {name} cannot be used: {error}")
    heads = ("profile", "region", "bucket", "flavor or pool", "kind", "keys")
    rows = [
        (
            f"{each.name} (default)" if each.name == default else each.name,
            each.region,
            each.bucket,
            each.flavor or each.pool_id or formats.MISSING,
            "rehearsal" if each.rehearsal else "measurement",
            keys,
        )
        for each, keys in known
    ]
    answers = [{**each.model_dump(mode="json"), "keys": keys, "default": each.name == default} for each, keys in known]
    shown.answer(answers, as_json, lambda: shown.table(heads, rows))


@click.command()
@profile_option
@as_json
def health(profile: str, as_json: bool) -> None:
    """Show whether the cloud answers, who follows, and how much is stored.

    Exits with 3 if a service does not answer properly, or cannot be asked, and with 1 if the ledger cannot be used.
    """
    core = open_core_for_reading()
    found = core.health(profile)
    keys = core.regions.credentials_summary(profile)
    shown.answer({"keys": keys, **_named(found)}, as_json, lambda: _health(found, keys))
    if found.ledger_error:
        raise found.ledger_error
    if not all(service.ok for service in found.services):
        click.get_current_context().exit(CLOUD_UNAVAILABLE)


def _named(found: "Health") -> dict[str, object]:
    return {"services": found.services, "followed": found.followed, "sizes": found.sizes, "read_only": found.read_only}


def _health(found: "Health", keys: str) -> str:
    nobody = "not known" if found.ledger_error else "by nobody yet"
    followed = f"{found.followed.who}, last seen {shown.moment(found.followed.at)}" if found.followed else nobody
    services = [(service.name, f"{service.address}  {_state(service)}".strip()) for service in found.services]
    return shown.listing(
        [
            ("keys", keys),
            *services,
            ("followed", followed),
            ("ledger", formats.size(found.sizes.ledger)),
            ("warehouse", formats.size(found.sizes.warehouse)),
            ("runs", "not known" if found.sizes.runs is None else f"{found.sizes.runs:,}"),
            ("disk", f"{formats.size(found.sizes.disk_free)} free"),
            *([("data folder", "read-only: nothing can be launched, imported or changed")] if found.read_only else []),
        ]
    )


def _state(service: "ServiceHealth") -> str:
    return service.sentence if service.milliseconds is None else f"answers in {service.milliseconds:.0f} ms"
