"""`aisbench workloads`, `profiles`, `health` and `doctor`: what is configured, and whether it works."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import open_core
from aisbench_core.cli.exit_codes import CLOUD_UNAVAILABLE, YOUR_INPUT
from aisbench_core.cli.options import as_json, profile_option
from aisbench_core.errors import AisbenchError

if TYPE_CHECKING:
    from aisbench_core.authoring.workloads import Workload
    from aisbench_core.doctor.diagnosis import Diagnosis
    from aisbench_core.health import Health, ServiceHealth


@click.command()
@as_json
def workloads(as_json: bool) -> None:
    """List workloads, and warn about manifests that cannot be read."""
    registry = open_core(writing=False).workloads
    loaded = registry.all()
    display.result(loaded, as_json, lambda: _workloads_table(loaded))
    for file, error in registry.problems():
        display.message(f"warning: {file.parent.name} cannot be used: {error}")


@click.command()
@as_json
def profiles(as_json: bool) -> None:
    """List profiles, and whether their keys are configured."""
    core = open_core(writing=False)
    default = core.settings.profile
    loaded = []
    for name in core.regions.names():
        try:
            loaded.append((core.regions.profile(name), core.regions.credentials_summary(name)))
        except AisbenchError as error:  # one broken file must not hide the others
            display.message(f"warning: profile {name} cannot be used: {error}")
    heads = ("profile", "region", "bucket", "flavor or pool", "kind", "keys")
    rows = [
        (
            f"{profile.name} (default)" if profile.name == default else profile.name,
            profile.region,
            profile.bucket,
            profile.flavor or profile.pool_id or formats.MISSING,
            "rehearsal" if profile.rehearsal else "measurement",
            keys,
        )
        for profile, keys in loaded
    ]
    answer = [
        {**profile.model_dump(mode="json"), "keys": keys, "default": profile.name == default}
        for profile, keys in loaded
    ]
    display.result(answer, as_json, lambda: display.table(heads, rows))


@click.command()
@profile_option
@as_json
def health(profile: str, as_json: bool) -> None:
    """Show whether the cloud answers, which process follows the runs, and how much is stored.

    Exits with 3 if a service does not answer or reports an error, and with 1 if the ledger cannot be read.
    """
    core = open_core(writing=False)
    health = core.health.check(profile)
    keys = core.regions.credentials_summary(profile)
    answer = display.pick(health, "services", "followed", "sizes", "read_only")
    display.result({"keys": keys, **answer}, as_json, lambda: _health_text(health, keys))
    if health.ledger_error:
        raise health.ledger_error  # printed last, after what still works
    if not all(service.ok for service in health.services):
        click.get_current_context().exit(CLOUD_UNAVAILABLE)


def _workloads_table(workloads: "list[Workload]") -> str:
    columns: display.Columns[Workload] = {
        "workload": lambda workload: workload.name,
        "title": lambda workload: workload.title,
        "model": lambda workload: workload.model,
        "framework": lambda workload: workload.framework,
        "versions": lambda workload: " ".join(workload.versions),
        "code": lambda workload: (
            ("yours" if workload.is_own else "shipped") if workload.ships_code else "bring your own"
        ),
    }
    return display.table_of(workloads, columns)


def _health_text(health: "Health", keys: str) -> str:
    nobody = "unknown" if health.ledger_error else "no follower yet"
    beat, sizes = health.followed, health.sizes
    return display.fields(
        ("keys", keys),
        *((service.name, f"{service.address}  {_service_state(service)}".strip()) for service in health.services),
        ("followed", f"{beat.who}, last seen {display.local_time(beat.at)}" if beat else nobody),
        ("ledger", formats.size(sizes.ledger)),
        ("warehouse", formats.size(sizes.warehouse)),
        ("runs", "unknown" if sizes.runs is None else f"{sizes.runs:,}"),
        ("disk", f"{formats.size(sizes.disk_free)} free"),
        ("data folder", "read-only: nothing can be launched, imported or changed" if health.read_only else ""),
    )


def _service_state(service: "ServiceHealth") -> str:
    return service.sentence if service.milliseconds is None else f"answers in {service.milliseconds:.0f} ms"


@click.command()
@profile_option
@as_json
def doctor(profile: str, as_json: bool) -> None:
    """Check this machine and its connection to a region, and suggest fixes.

    Checks keys, libraries, proxy variables, host names (and prints missing lines for /etc/hosts), certificates, clocks,
    and whether the region accepts the keys. All checks run at once, take at most 20 s and change nothing.

    Exits with 2 if a check fails, and with 0 if there are only warnings.
    """
    diagnoses = open_core(writing=False).doctor.examine(profile)
    # The JSON key `found` is older than the field's name, and scripts read it.
    answer = [
        {
            **display.pick(diagnosis, "check", "state"),
            "found": diagnosis.message,
            **display.pick(diagnosis, "advice", "hosts"),
        }
        for diagnosis in diagnoses
    ]
    display.result(answer, as_json, lambda: _diagnoses_text(diagnoses))
    if any(diagnosis.state == "fail" for diagnosis in diagnoses):
        click.get_current_context().exit(YOUR_INPUT)


def _diagnoses_text(diagnoses: "Sequence[Diagnosis]") -> str:
    rows = [row for diagnosis in diagnoses for row in _diagnosis_rows(diagnosis)]
    lines = [line for diagnosis in diagnoses for line in diagnosis.hosts]
    hosts = ["", "lines for /etc/hosts:", *map(display.indented, lines)] if lines else []
    return "\n".join([display.table(("", "check", "found"), rows), *hosts])


def _diagnosis_rows(diagnosis: "Diagnosis") -> "Iterator[tuple[str, str, str]]":
    yield diagnosis.state, diagnosis.check, diagnosis.message
    if diagnosis.advice:
        yield "", "", f"→ {diagnosis.advice}"
