"""`aisbench schedule`: series that are launched again and again."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import click

from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.following import warn_without_follower
from aisbench_core.interfaces.cli.options import Group
from aisbench_core.interfaces.cli.series.planning import plan_draft, plan_options, print_draft
from aisbench_core.model import Schedule

schedule = Group(
    "schedule",
    help="Launch series repeatedly, at the times of a cron expression.\n\n"
    "The follower launches them; docs/series.md has the rules.",
)
_INNER = ("version", "role", "token_id")
_name = click.argument("schedule_name", metavar="NAME")


@schedule.command()
@_name
@plan_options
@click.option("--cron", required=True, metavar="'M H D M W'", help="Minute, hour, day, month, day of the week.")
@click.option("--time-zone", metavar="ZONE", help="Time zone of the expression, such as Asia/Shanghai; default: UTC.")
@click.option(
    "--weekly-budget", "weekly_hours", type=float, metavar="H", help="Node hours in any 7 days; default: no limit."
)
def add(
    schedule_name: str,
    cron: str,
    time_zone: str | None,
    weekly_hours: float | None,
    profile: str,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Add a schedule, and print when it launches its first series.

    You own its series; they follow the plan that the options define and are compared with earlier runs when they end.
    If the previous series has not ended or the budget is too small, nothing is launched and a notification is sent.
    """
    core = open_core(writing=True)
    draft = plan_draft(core, profile, arguments)
    print_draft(draft, with_errors=False)
    timing = {"name": schedule_name, "cron": cron, "time_zone": time_zone, "weekly_hours": weekly_hours}
    added = core.schedules.add(draft.plan, timing, profile, get_actor())
    display.print_result(
        _as_dict(added), as_json, lambda: f"{added.name}: next at {zone_time(added.next_at, added.time_zone)}"
    )
    warn_without_follower(core)


@schedule.command("list")
def list_(as_json: bool) -> None:
    """List schedules with their next times and last series."""
    service = open_core(writing=False).schedules
    schedules = service.all()
    holds = {each.name: service.hold(each) for each in schedules}
    columns: display.Columns[Schedule] = {
        "schedule": lambda each: each.name,
        "series": lambda each: each.plan.name or each.plan.spec.workload,
        "cron": lambda each: each.cron,
        "next": lambda each: (
            "paused" if each.paused else "held" if holds[each.name] else zone_time(each.next_at, each.time_zone)
        ),
        ">hours a week": lambda each: display.format_value(each.weekly_hours),
        "owner": lambda each: each.owner,
        "last series": lambda each: display.format_value(each.series_id),
        "last": lambda each: display.format_value(each.detail),
        "held": lambda each: display.format_value(holds[each.name]),
    }
    answers = [_as_dict(each) | {"held": display.format_value(holds[each.name])} for each in schedules]
    display.print_result(answers, as_json, lambda: display.table_of(schedules, columns))


@schedule.command()
@_name
@click.option("--cron", metavar="'M H D M W'", help="Minute, hour, day, month, day of the week.")
@click.option("--time-zone", metavar="ZONE", help="Time zone of the expression.")
@click.option("--weekly-budget", "weekly_hours", type=float, metavar="H", help="Node hours in any 7 days; 0: no limit.")
def change(
    schedule_name: str, cron: str | None, time_zone: str | None, weekly_hours: float | None, as_json: bool
) -> None:
    """Change times or weekly budget of a schedule, and print its next time.

    What is not given stays. A series that runs goes on.
    """
    given: dict[str, object] = {"cron": cron, "time_zone": time_zone, "weekly_hours": weekly_hours}
    timing = {name: value for name, value in given.items() if value is not None}
    if not timing:
        raise click.UsageError("say what changes: --cron, --time-zone or --weekly-budget")
    if weekly_hours == 0:
        timing["weekly_hours"] = None
    core = open_core(writing=True)
    changed = core.schedules.change(schedule_name, None, timing, "", get_actor())
    display.print_result(
        _as_dict(changed), as_json, lambda: f"{changed.name}: next at {zone_time(changed.next_at, changed.time_zone)}"
    )


@schedule.command()
@_name
def pause(schedule_name: str) -> None:
    """Launch nothing until the schedule is resumed."""
    open_core(writing=True).schedules.pause(schedule_name, get_actor())
    click.echo(f"{schedule_name}: paused")


@schedule.command()
@_name
def resume(schedule_name: str) -> None:
    """Launch again from the next time on."""
    core = open_core(writing=True)
    resumed = core.schedules.resume(schedule_name, get_actor())
    click.echo(f"{resumed.name}: next at {zone_time(resumed.next_at, resumed.time_zone)}")
    warn_without_follower(core)


@schedule.command()
@_name
def remove(schedule_name: str) -> None:
    """Remove a schedule; its series stay, and one that runs goes on."""
    open_core(writing=True).schedules.remove(schedule_name, get_actor())
    click.echo(f"{schedule_name}: removed")


def zone_time(at: datetime, time_zone: str) -> str:
    """A time on the clocks of a time zone, with its name."""
    return f"{at.astimezone(ZoneInfo(time_zone)):%Y-%m-%d %H:%M} {time_zone}"


def _as_dict(schedule: Schedule) -> dict[str, object]:
    return {name: value for name, value in display.as_dict(schedule).items() if name not in _INNER}
