"""`aisbench doctor`: what on this machine or on the way to the region keeps runs from working."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core_for_reading, profile_option
from aisbench_core.cli.exit_codes import YOUR_INPUT

if TYPE_CHECKING:
    from aisbench_core.doctor.diagnosis import Diagnosis


@click.command()
@profile_option
@as_json
def doctor(profile: str, as_json: bool) -> None:
    """Look for what keeps this machine from working with a region, and say what to do.

    It looks at keys, libraries, proxy variables, names (with the lines that /etc/hosts lacks), certificates and clocks,
    and whether the keys are accepted. Everything is asked at once, takes at most 20 s and changes nothing.

    Exits with 2 if a check fails; warnings alone exit with 0.
    """
    found = open_core_for_reading().doctor.examine(profile)
    shown.answer(found, as_json, lambda: _text(found))
    if any(each.state == "fail" for each in found):
        click.get_current_context().exit(YOUR_INPUT)


def _text(found: "Sequence[Diagnosis]") -> str:
    rows = [row for each in found for row in _rows(each)]
    lines = [line for each in found for line in each.hosts]
    hosts = ["", "lines for /etc/hosts:", *map(shown.indented, lines)] if lines else []
    return "\n".join([shown.table(("", "check", "found"), rows), *hosts])


def _rows(each: "Diagnosis") -> "Iterator[tuple[str, str, str]]":
    yield each.state, each.check, each.found
    if each.advice:
        yield "", "", f"→ {each.advice}"
