"""Applies the fixes of findings to a spec."""

from collections.abc import Iterable
from typing import Any

from aisbench_core.base.documents import parse_document
from aisbench_core.domain.authoring.specfile import SPEC
from aisbench_core.model import Finding, RunSpec, Scalar

CHANNELS = ("inputs", "outputs")
SECRETS = "secrets"


def apply_fixes(spec: RunSpec, findings: Iterable[Finding]) -> RunSpec:
    """The spec with every fix of these findings applied. Raises SpecError."""
    answers = spec.model_dump(exclude_unset=True)  # so that unset fields still follow the manifest
    for finding in findings:
        for field, value in finding.fix:
            _change_field(answers, field, value)
    return parse_document(RunSpec, answers, SPEC)


def _change_field(answers: dict[str, Any], field: str, value: Scalar | None) -> None:
    section, _, name = field.partition(".")
    if not name:
        answers[section] = value
    elif section == SECRETS:  # a list of names: None removes one, anything else adds it
        names = tuple(secret for secret in answers.get(section, ()) if secret != name)
        answers[section] = names if value is None else (*names, name)
    elif section in CHANNELS:
        channels = answers.get(section, ())
        answers[section] = [{**channel, "path": value} if channel["name"] == name else channel for channel in channels]
    else:
        entries = {key: entry for key, entry in answers.get(section, {}).items() if key != name}
        answers[section] = entries if value is None else {**entries, name: value}
