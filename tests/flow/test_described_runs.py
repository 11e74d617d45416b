"""A system description's way: kept for a profile, taken over at launch, recorded when the run ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.model import stated_of
from aisbench_core.running.systems.descriptions import SystemTemplate
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    bench.core.systems.state(SystemTemplate("sandbox"), {"submitter": "lab", "cooling": "air"}, named(PERSON))
    return bench


def system(bench: Bench) -> dict[str, Any]:
    """The description of the only run in the warehouse."""
    with bench.core.warehouse.cursor() as cur:
        text = cur.execute("select system from runs").fetchall()[0][0]
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_run_is_recorded_with_what_is_stated_and_what_its_job_says(bench: Bench) -> None:
    run = bench.follow(bench.launch())

    assert system(bench)["cooling"] == "air"
    assert system(bench)["accelerators_per_node"] == 2
    assert system(bench)["system_name"] == "sandbox.cpu.2cards"
    assert "2 saved fields" in bench.core.ledger.events(run.run_id)[0].message


def test_an_edit_while_a_run_is_on_its_way_is_in_its_record_and_nowhere_else(bench: Bench) -> None:
    run = bench.launch()

    bench.core.systems.state(run.run_id, {"cooling": "liquid"}, named(PERSON))
    bench.follow(run)

    assert system(bench)["cooling"] == "liquid"
    assert bench.core.systems.of(SystemTemplate("sandbox")).stated == stated_of({"submitter": "lab", "cooling": "air"})


def test_a_token_that_is_used_twice_leaves_no_description_behind(bench: Bench) -> None:
    first, second = (bench.core.runs.launch(SPEC, "sandbox", named(PERSON), "once") for _ in range(2))

    assert first.run_id == second.run_id
    assert [file.parent.name for file in bench.core.settings.runs_dir.glob("*/system.json")] == [first.run_id]
