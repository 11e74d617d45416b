"""Regressions in continuous integration: JUnit XML, Markdown, annotations, and the ready files of docs/ci."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import Failure, JUnitXml, Skipped, TestCase

from aisbench_core.model import RunRecord
from tests import records as a
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD as JOB_OUTPUTS
from tests.flow.test_regress import BAD, GOOD, fill, type_in, version
from tests.sandbox_process import SandboxProcess
from tests.source_tree import HOME

FILES = HOME / "docs" / "ci"
OUTCOMES = {"no change": 0, "regression": 5, "not enough data": 6}


def warehouse_with(data_dir: Path, outcome: str, **changes: Any) -> None:
    """A warehouse whose newest version is no slower, slower, or measured once."""
    newest = {"no change": GOOD, "regression": BAD, "not enough data": BAD[:1]}[outcome]
    fill(data_dir, version("r1.10", GOOD, 0, **changes), version("r1.11", newest, 1, **changes))


def cases(file: Path) -> dict[str, TestCase]:
    """The test cases of a report by name, as a program reads it that nobody here wrote."""
    document = JUnitXml.fromfile(str(file))
    return {case.name: case for suite in document for case in suite}


def test_a_regression_is_a_failed_test_case_and_other_metrics_pass(tmp_path: Path) -> None:
    warehouse_with(tmp_path, "regression")
    file = tmp_path / "regress.xml"

    result = type_in(tmp_path, "regress", "--junit", str(file))

    assert result.exit_code == 5
    assert f"written: {file}" in result.stderr
    found = cases(file)
    named = "resnet50_v1.5 · modelarts.kat1.8xlarge · 1 × 8"
    throughput = found[f"{named}: throughput"]
    (failure,) = throughput.result
    assert isinstance(failure, Failure)
    assert failure.message.startswith("regression: 8,001.7 samples/s (n=6) → 7,500 samples/s (n=3), −6.27 %")
    assert "baseline r1.10 (the version before, 6 runs), candidate r1.11 (3 runs)" in failure.text
    assert 'name="candidate_runs" value="r1.11-0 r1.11-1 r1.11-2"' in file.read_text("utf-8")
    assert [name for name, case in found.items() if case.is_failure] == [throughput.name]
    document = JUnitXml.fromfile(str(file))
    assert (document.tests, document.failures, document.errors) == (len(found), 1, 0)


def test_too_little_data_is_skipped_and_no_group_at_all_says_so(tmp_path: Path) -> None:
    warehouse_with(tmp_path, "not enough data")
    file = tmp_path / "regress.xml"

    assert type_in(tmp_path, "regress", "--junit", str(file)).exit_code == 6
    assert {type(result) for case in cases(file).values() for result in case.result} == {Skipped}

    assert type_in(tmp_path, "regress", "--model", "another", "--junit", str(file)).exit_code == 6
    (case,) = cases(file).values()
    assert case.result[0].message == "not enough data: no run matches the filters"


def test_names_of_test_cases_stay_the_same_from_version_to_version(tmp_path: Path) -> None:
    file = tmp_path / "regress.xml"
    names = []

    for versions in (("r1.10", "r1.11"), ("r1.10", "r1.11", "r1.12")):
        fill(tmp_path, *(version(name, GOOD, day) for day, name in enumerate(versions)))
        type_in(tmp_path, "regress", "--junit", str(file))
        names.append({(case.classname, case.name) for case in cases(file).values()})

    assert names[0] == names[1] != set()


def test_what_a_result_file_says_is_neither_markup_nor_a_command(tmp_path: Path) -> None:
    hostile = "x`|<img src=y>@team%0A\n::error::owned\x1b[31m&]]>"
    warehouse_with(tmp_path, "regression", facts=replace(a.FACTS, model=hostile))
    junit, markdown = tmp_path / "regress.xml", tmp_path / "regress.md"

    result = type_in(tmp_path, "regress", "--junit", str(junit), "--markdown", str(markdown), "--github")

    assert result.exit_code == 5
    assert all("\x1b" not in text for text in (junit.read_text(), markdown.read_text(), result.stderr))
    (suite,) = JUnitXml.fromfile(str(junit))
    assert suite.name.startswith("x`|<img src=y>@team%0A ::error::owned")
    commands = [line for line in result.stderr.splitlines() if line.startswith("::")]
    assert len(commands) == 1
    assert "title=Regression%3A x`|<img src=y>@team%250A %3A%3Aerror%3A%3Aowned" in commands[0]
    assert re.search(r"\*\*regression\*\* · `` x`\|<img src=y>@team.* ``\n", markdown.read_text())


def test_the_summary_shows_what_changed_and_folds_the_rest(tmp_path: Path) -> None:
    slower = version("r1.10", GOOD, 0) + version("r1.11", BAD, 1)
    even = version("r1.10", GOOD, 0, node_count=2) + version("r1.11", GOOD, 1, node_count=2)
    fill(tmp_path, slower, [_with_id(record, f"even-{index}") for index, record in enumerate(even)])
    file = tmp_path / "regress.md"

    type_in(tmp_path, "regress", "--markdown", str(file))

    shown, _, folded = file.read_text("utf-8").partition("<details>")
    assert shown.startswith("### Benchmarks: regression\n\n`cn-north-9: 2 groups, 12 tests; measurements`\n")
    assert "| throughput | **regression** | 8,001.7 samples/s (n=6) | 7,500 samples/s (n=3) | −6.27 % |" in shown
    assert "no change · <code>resnet50_v1.5 · modelarts.kat1.8xlarge · 2 × 8</code>" in folded
    assert folded.rstrip().endswith("</details>")


def _with_id(record: RunRecord, run_id: str) -> RunRecord:
    return replace(record, run=replace(record.run, run_id=run_id))


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        ("regression", "::error title=Regression%3A resnet50_v1.5 · modelarts.kat1.8xlarge · 1 × 8::throughput: "),
        ("no change", "::notice title=Benchmarks%3A no change::cn-north-9: 1 group, 8 tests; measurements"),
        ("not enough data", "::warning title=Benchmarks%3A not enough data::cn-north-9: 1 group"),
    ],
)
def test_annotations_tell_a_regression_from_too_little_data(tmp_path: Path, outcome: str, line: str) -> None:
    warehouse_with(tmp_path, outcome)

    result = type_in(tmp_path, "regress", "--github", "--json")

    (command,) = [each for each in result.stderr.splitlines() if each.startswith("::")]
    assert command.startswith(line)
    assert "::" not in result.stdout, "JSON stays JSON"


def test_a_report_that_cannot_be_written_is_invalid_input(tmp_path: Path) -> None:
    warehouse_with(tmp_path, "no change")

    result = type_in(tmp_path, "regress", "--junit", str(tmp_path / "missing" / "regress.xml"))

    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def github() -> Iterator[str]:
    (job,) = yaml.safe_load((FILES / "github.yml").read_text("utf-8"))["jobs"].values()
    yield from (step["run"] for step in job["steps"] if "run" in step)


def gitlab() -> Iterator[str]:
    yield from yaml.safe_load((FILES / "gitlab-ci.yml").read_text("utf-8"))["benchmark"]["script"]


def jenkins() -> Iterator[str]:
    yield from re.findall(r"(?:sh |script: )'([^']+)'", (FILES / "Jenkinsfile").read_text("utf-8"))


def shell(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command of a ready file, as a runner starts it: by a shell, in a folder of its own."""
    usual = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AISBENCH_DATA_DIR": str(folder),
        "MODEL": "resnet50_v1.5",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    whole = ["sh", "-e", "-c", command]
    return subprocess.run(whole, cwd=folder, env=usual | environment, capture_output=True, text=True, check=False)


def test_the_ready_files_measure_alike_and_jenkins_compares_as_gitlab() -> None:
    assert [*jenkins()] == [*gitlab()]
    assert next(github()) == next(gitlab())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "outcome"),
    [
        *((github, outcome) for outcome in OUTCOMES),
        (gitlab, "regression"),
        pytest.param(gitlab, "no change", marks=pytest.mark.exhaustive),
        pytest.param(gitlab, "not enough data", marks=pytest.mark.exhaustive),
    ],
)
def test_the_command_of_each_ready_file_tells_a_regression(
    tmp_path: Path, commands: Callable[[], Iterator[str]], outcome: str
) -> None:
    warehouse_with(tmp_path, outcome)
    _, compare = commands()

    result = shell(tmp_path, compare)

    assert result.returncode == OUTCOMES[outcome], result.stderr
    assert JUnitXml.fromfile(str(tmp_path / "regress.xml")).failures == (outcome == "regression")
    (summary,) = tmp_path.glob("*.md")
    assert summary.read_text("utf-8").startswith(f"### Benchmarks: {outcome}\n")


@pytest.mark.slow
def test_a_pipeline_measures_a_series_and_one_build_alone_is_not_enough(
    tmp_path: Path, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="look", outputs=JOB_OUTPUTS)
    line = CommandLine(tmp_path / "data", sandbox)
    spec = line.type("spec", "quickstart_digits", "--set", "flavor=sandbox.cpu.2cards", "--cards", "2").stdout
    (tmp_path / "benchmark.yaml").write_text(spec, "utf-8")
    environment = {**line.environment, "MODEL": "MLP, one hidden layer"}
    measure, compare = github()

    measured = shell(tmp_path, measure, **environment)
    compared = shell(tmp_path, compare, **environment)

    assert measured.returncode == 0, measured.stderr
    assert "repeat 3: valid" in measured.stderr
    assert compared.returncode == 6, compared.stderr
    assert "1 group, 0 tests" in compared.stderr


@pytest.mark.parametrize(("outcome", "code"), [("no change", 0), ("regression", 1), ("not enough data", 1)])
def test_the_release_gate_opens_only_without_a_regression(tmp_path: Path, outcome: str, code: int) -> None:
    warehouse_with(tmp_path, outcome)
    gate = FILES / "release-gate.sh"

    result = shell(tmp_path, f"sh {gate} resnet50_v1.5")

    assert result.returncode == code, result.stderr
    assert ("release: no regression" in result.stdout) == (code == 0)
    assert len(gate.read_text("utf-8").splitlines()) <= 10


def test_the_release_gate_stays_closed_when_nothing_can_be_compared(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_bytes(b"no warehouse" * 1000)

    result = shell(tmp_path, f"sh {FILES / 'release-gate.sh'} resnet50_v1.5")

    assert result.returncode == 2
    assert "no release: the results could not be compared" in result.stderr


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("github.yml", ("--builtin-schema", "vendor.github-workflows")),
        ("gitlab-ci.yml", ("--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci")),
    ],
)
def test_pipelines_follow_the_schema_of_their_service(tmp_path: Path, file: str, options: tuple[str, ...]) -> None:
    check = [sys.executable, "-m", "check_jsonschema", *options]
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        (FILES / file).read_text("utf-8").replace("benchmark:\n", "benchmark:\n    tags: {}\n", 1), "utf-8"
    )

    assert subprocess.run([*check, str(FILES / file)], capture_output=True, text=True, check=False).returncode == 0
    assert subprocess.run([*check, str(wrong)], capture_output=True, text=True, check=False).returncode == 1


def test_the_release_gate_is_sound_shell() -> None:
    program = Path(sys.executable).with_name("shellcheck")

    result = subprocess.run([program, FILES / "release-gate.sh"], capture_output=True, text=True, check=False)

    assert result.stdout == ""


def test_the_page_shows_the_files_that_are_tested() -> None:
    page = (HOME / "docs" / "ci.md").read_text("utf-8")

    linked = set(re.findall(r"\]\(ci/([^)]+)\)", page))

    assert linked == {file.name for file in FILES.iterdir()}
    assert (FILES / "release-gate.sh").read_text("utf-8") in page
    assert JUnitXml.fromstring(re.findall(r"```xml\n(.*?)```", page, re.S)[0]).failures == 1
