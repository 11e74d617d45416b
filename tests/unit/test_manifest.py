"""Manifests: what is refused, and that the documentation and the shipped code say the same as the models."""

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from aisbench_core.base.documents import parse_document, parse_yaml
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.manifest import (
    DatasetLayout,
    Definition,
    Manifest,
    MeasuredSteps,
    PackageOrigin,
    Parameter,
    ProgressLines,
    QualityTarget,
    VersionEdition,
)
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.llm.llm_settings import LlmSection
from aisbench_core.domain.llm.model_shape import ModelShape
from tests.unit.good_manifest import MANIFEST

MODELS: dict[str, type[BaseModel]] = {
    "The manifest": Manifest,
    "`parameters.<name>`": Parameter,
    "`versions.<version>`": VersionEdition,
    "`definitions.<id>`": Definition,
    "`dataset`": DatasetLayout,
    "`target`": QualityTarget,
    "`measured_steps`": MeasuredSteps,
    "`progress_lines`": ProgressLines,
    "`llm`": LlmSection,
    "`llm.shapes.<value>`": ModelShape,
    "`package`": PackageOrigin,
}
SHIPPED_CODE = [workload for workload in Workloads(HOME / "workloads").all() if workload.ships_code]


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good manifest with one answer replaced."""
    first, _, rest = path.partition(".")

    def replace(answers: dict[str, Any], step: str, rest: str) -> dict[str, Any]:
        if not rest:
            return answers | {step: value}
        following, _, after = rest.partition(".")
        return answers | {step: replace(answers[step], following, after)}

    return replace(MANIFEST, first, rest)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("colour", "red", "colour: is not a known key; allowed: title, title_zh"),
        ("target.goal", 1, "target.goal: is not a known key; allowed: value, metric, source, note"),
        ("parameters.epochs.typ", "int", "parameters.epochs.typ: is not a known key; allowed: type, choices, minimum"),
        (
            "parameters.epochs.type",
            "integer",
            "parameters.epochs.type: input should be 'int', 'float', 'str' or 'bool'",
        ),
        ("parameters.epochs.default", "3", "parameters.epochs.default: must be a whole number (found '3')"),
        ("parameters.epochs.default", 12, "parameters.epochs.default: is out of range; allowed: 1 to 9 (found 12)"),
        ("parameters.mode.default", "c", "parameters.mode.default: is not allowed; allowed: 'a', 'b' (found 'c')"),
        ("parameters.mode.choices", ["a", 1], "parameters.mode.choices: 1 is not of type str"),
        ("parameters.mode.minimum", 1, "parameters.mode.minimum: applies to numbers, but the type is str (found 1)"),
        ("parameters.rate.default", float("inf"), "parameters.rate.default: is not a finite number (found inf)"),
        ("parameters.a b", MANIFEST["parameters"]["rate"], "parameters.a b.[key]: string should match pattern"),
        ("versions.v2.throughput_definition", "third", "is not among definitions: first, second"),
        ("versions.v1.omits", ["nothing"], "v1.omits: 'nothing' is not among parameters: epochs, rate, mode, cache"),
        ("result_from", "logs", "result_from: input should be 'files' or 'log' (found 'logs')"),
        ("measured_steps", {"first": 11}, "measured_steps: applies to `result_from: log`"),
        ("measured_steps", {"first": 11, "last": 10}, "measured_steps.last: must be at least the first, 11 (found 10)"),
        ("measured_steps", {"first": 0}, "measured_steps.first: input should be greater than or equal to 1 (found 0)"),
        ("versions", {}, "versions: dictionary should have at least 1 item"),
        (
            "versions",
            {2.0: MANIFEST["versions"]["v2"]},
            "versions.2.0.[key]: input should be a valid string (found 2.0)",
        ),
        ("boot_file", "../train.py", "boot_file: string should match pattern"),
        ("boot_file", "train.sh", "boot_file: string should match pattern"),
        ("target.value", 75.9, "target.value: input should be less than or equal to 1 (found 75.9)"),
        ("dataset.required", "train/", "dataset.required: input should be a valid tuple (found 'train/')"),
        (
            "progress_lines",
            {"patterns": [r"(?P<step>\d+"]},
            r"'(?P<step>\\d+' is not an RE2 pattern: missing )",
        ),
        (
            "progress_lines",
            {"patterns": [r"(?P<speed>\d+)"]},
            "has unknown groups: speed; known: batch, card_samples_per_s",
        ),
        (
            "progress_lines",
            {"patterns": ["(?P<step>x)"] * 17},
            "progress_lines.patterns: tuple should have at most 16 items",
        ),
        ("reporter", "sometimes", "reporter: input should be a valid boolean"),
    ],
)
def test_a_wrong_answer_is_named_with_its_field_value_and_what_is_allowed(path: str, value: Any, problem: str) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        parse_document(Manifest, changed(path, value), make_verbatim("workload w (workload.yaml)"))


def test_every_problem_of_a_manifest_is_told_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        parse_document(Manifest, {"title": "", "reporter": 7}, make_verbatim("workload w (workload.yaml)"))

    assert {problem.field for problem in caught.value.problems} >= {"title", "reporter", "versions", "dataset"}


@pytest.mark.parametrize("heading", MODELS)
def test_the_reference_in_the_documentation_is_that_of_the_models(heading: str) -> None:
    document = (HOME / "docs" / "workloads.md").read_text("utf-8")

    assert f"### {heading}\n\n" + reference(MODELS[heading]) in document


def test_the_manifest_in_the_documentation_can_be_used() -> None:
    document = (HOME / "docs" / "workloads.md").read_text("utf-8")
    example = textwrap.dedent(document.partition("   ```yaml\n")[2].partition("   ```")[0])

    manifest = parse_document(Manifest, parse_yaml(example, "the example"), make_verbatim("the example"))

    assert list(manifest.versions) == ["2.1"]


def reference(model: type[BaseModel]) -> str:
    """The fields of a model as a list."""
    rows = []
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        nothing = default in ("", (), {}, None)
        shown = "" if nothing else f" (`{str(default).lower() if default is False else default}`)"
        shown = " (required)" if field.is_required() else shown
        rows.append(f"* `{name}`{shown}: {field.description}")
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("workload", SHIPPED_CODE, ids=lambda workload: workload.name)
def test_a_boot_file_starts_from_the_defaults_of_its_manifest(workload: Any) -> None:
    defaults = argument_defaults(workload.code_dir / workload.boot_file)

    for version in workload.versions:
        parameters = workload.edition(version).parameters
        assert {name: parameter.default for name, parameter in parameters.items()} == defaults


def argument_defaults(boot_file: Path) -> dict[str, Any]:
    """The defaults that a boot file gives to its arguments, other than those that name directories."""
    defaults = {}
    for node in ast.walk(ast.parse(boot_file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            name = ast.literal_eval(node.args[0]).removeprefix("--")
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if name not in ("data_url", "train_url"):
                defaults[name] = ast.literal_eval(given["default"])
    return defaults


def test_whatever_is_uploaded_can_be_read_by_the_oldest_interpreter() -> None:
    files = [*(HOME / "workloads").glob("*/code/**/*.py"), *(HOME / "workloads/_reporter").glob("*.py")]
    assert len(files) >= 8

    for file in files:
        ast.parse(file.read_text("utf-8"), file.name, feature_version=(3, 7))
