"""`aisbench doctor`: what keeps this machine from working with a region."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import open_core
from aisbench_core.cli.exit_codes import YOUR_INPUT
from aisbench_core.cli.options import as_json, profile_option

if TYPE_CHECKING:
    from aisbench_core.doctor.diagnosis import Diagnosis


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
    display.result(answer, as_json, lambda: _text(diagnoses))
    if any(diagnosis.state == "fail" for diagnosis in diagnoses):
        click.get_current_context().exit(YOUR_INPUT)


def _text(diagnoses: "Sequence[Diagnosis]") -> str:
    rows = [row for diagnosis in diagnoses for row in _rows(diagnosis)]
    lines = [line for diagnosis in diagnoses for line in diagnosis.hosts]
    hosts = ["", "lines for /etc/hosts:", *map(display.indented, lines)] if lines else []
    return "\n".join([display.table(("", "check", "found"), rows), *hosts])


def _rows(diagnosis: "Diagnosis") -> "Iterator[tuple[str, str, str]]":
    yield diagnosis.state, diagnosis.check, diagnosis.message
    if diagnosis.advice:
        yield "", "", f"→ {diagnosis.advice}"
