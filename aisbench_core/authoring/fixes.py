"""Carries out what findings propose: a spec with its mistakes mended."""

from collections.abc import Iterable
from typing import Any

from aisbench_core.authoring.specfile import WHAT
from aisbench_core.documents import parse
from aisbench_core.model import Finding, RunSpec, Scalar

CHANNELS = ("inputs", "outputs")
SECRETS = "secrets"
"""A list of names: a fix adds one, or takes it away."""


def fixed(spec: RunSpec, findings: Iterable[Finding]) -> RunSpec:
    """The spec with every fix of these findings; what nobody proposes to change stays. Raises SpecError."""
    answers = spec.model_dump(exclude_unset=True)
    for finding in findings:
        for field, value in finding.fix:
            _change(answers, field, value)
    return parse(RunSpec, answers, WHAT)


def _change(answers: dict[str, Any], field: str, value: Scalar | None) -> None:
    place, _, name = field.partition(".")
    if not name:
        answers[place] = value
    elif place == SECRETS:
        others = tuple(each for each in answers.get(place, ()) if each != name)
        answers[place] = others if value is None else (*others, name)
    elif place in CHANNELS:
        channels = answers.get(place, ())
        answers[place] = [{**channel, "path": value} if channel["name"] == name else channel for channel in channels]
    else:
        kept = {key: each for key, each in answers.get(place, {}).items() if key != name}
        answers[place] = kept if value is None else {**kept, name: value}
