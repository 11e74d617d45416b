"""`aisbench workloads`, `profiles`, `health` and `doctor`: what is configured, and whether it works."""

from typing import Any

import click

from aisbench_core.base import formats
from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import open_core
from aisbench_core.interfaces.cli.exit_codes import CLOUD_UNAVAILABLE, YOUR_INPUT
from aisbench_core.interfaces.cli.options import command, profile_option


@command()
def workloads(as_json: bool) -> None:
    """List workloads, and warn about manifests that cannot be read."""
    registry = open_core(writing=False).workloads
    loaded = registry.all()
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
    display.print_result(loaded, as_json, lambda: display.table_of(loaded, columns))
    for file, error in registry.problems():
        display.print_message(f"warning: {file.parent.name} cannot be used: {error}")


@command()
def profiles(as_json: bool) -> None:
    """List profiles, and whether their keys are configured."""
    core = open_core(writing=False)
    default = core.settings.profile
    answer = []
    for name in core.regions.names():
        try:
            fields = core.regions.profile(name).model_dump(mode="json")
            keys = core.regions.credentials_summary(name)
        except AisbenchError as error:  # one broken file must not hide the others
            display.print_message(f"warning: profile {name} cannot be used: {error}")
        else:
            answer.append({**fields, "keys": keys, "default": fields["name"] == default})
    columns: display.Columns[dict[str, Any]] = {
        "profile": lambda profile: f"{profile['name']} (default)" if profile["default"] else profile["name"],
        "region": lambda profile: profile["region"],
        "bucket": lambda profile: profile["bucket"],
        "flavor or pool": lambda profile: profile["flavor"] or profile["pool_id"] or formats.MISSING,
        "kind": lambda profile: "rehearsal" if profile["rehearsal"] else "measurement",
        "keys": lambda profile: profile["keys"],
    }
    display.print_result(answer, as_json, lambda: display.table_of(answer, columns))


@command()
@profile_option
def health(profile: str, as_json: bool) -> None:
    """Show whether the cloud answers, which process follows the runs, and how much is stored.

    Schedules that are held are listed with what to do about it.

    Exits with 3 if a service does not answer or reports an error, and with 1 if the ledger cannot be read.
    """
    core = open_core(writing=False)
    health = core.health.check(profile)
    keys = core.regions.credentials_summary(profile)
    nobody = "unknown" if health.ledger_error else "no follower yet"
    beat, sizes = health.followed, health.sizes
    services = [
        (one.name, one.address, one.sentence if one.milliseconds is None else f"answers in {one.milliseconds:.0f} ms")
        for one in health.services
    ]
    text = display.format_fields(
        ("keys", keys),
        *((name, f"{address}  {state}".strip()) for name, address, state in services),
        ("followed", f"{beat.who}, last seen {display.local_time(beat.at)}" if beat else nobody),
        *(("follower", f"{one.beat.who}: {', '.join(one.profiles) or 'no active runs'}") for one in health.shared),
        *((f"schedule {one.name}", f"held: {one.why}") for one in health.held),
        ("ledger", formats.format_size(sizes.ledger)),
        ("warehouse", formats.format_size(sizes.warehouse)),
        ("runs", "unknown" if sizes.runs is None else f"{sizes.runs:,}"),
        ("disk", f"{formats.format_size(sizes.disk_free)} free"),
        ("data folder", "read-only: nothing can be launched, imported or changed" if health.read_only else ""),
    )
    answer = display.pick_fields(health, "services", "followed", "shared", "held", "sizes", "read_only")
    display.print_result({"keys": keys, **answer}, as_json, lambda: text)
    if health.ledger_error:
        raise health.ledger_error  # printed last, after what still works
    if not all(service.ok for service in health.services):
        click.get_current_context().exit(CLOUD_UNAVAILABLE)


@command()
@profile_option
def doctor(profile: str, as_json: bool) -> None:
    """Check this machine and its connection to a region, and suggest fixes.

    Checks keys, libraries, proxy variables, host names (and prints missing lines for /etc/hosts), certificates, clocks,
    and whether the region accepts the keys. All checks run at once, take at most 20 s and change nothing, except that
    with run_folders an object is written and deleted.

    Exits with 2 if a check fails, and with 0 if there are only warnings.
    """
    diagnoses = open_core(writing=False).doctor.examine(profile)
    # The JSON key `found` is older than the field's name, and scripts read it.
    answer = [
        {"check": one.check, "state": one.state, "found": one.message, "advice": one.advice, "hosts": one.hosts}
        for one in diagnoses
    ]
    rows: list[tuple[str, str, str]] = []
    for one in diagnoses:
        rows += [(one.state, one.check, one.message), *([("", "", f"→ {one.advice}")] if one.advice else [])]
    lines = [line for one in diagnoses for line in one.hosts]
    hosts = ["", "lines for /etc/hosts:", *map(display.indent_text, lines)] if lines else []
    text = "\n".join([display.format_table(("", "check", "found"), rows), *hosts])
    display.print_result(answer, as_json, lambda: text)
    if any(diagnosis.state == "fail" for diagnosis in diagnoses):
        click.get_current_context().exit(YOUR_INPUT)
