"""Every kind of fault on every kind of call, early and late in a run's life."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aisbench_core.model import RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_one_sentence, jobs_named
from tests.reliability.outcomes import campaign
from tests.sandbox_process import SandboxProcess

CALLS: dict[str, dict[str, Any]] = {
    "OBS put": {"service": "obs", "method": "PUT"},
    "OBS get or list": {"service": "obs", "method": "GET"},
    "ModelArts create": {"service": "modelarts", "method": "POST", "path": "/training-jobs$"},
    "ModelArts list": {"service": "modelarts", "method": "POST", "path": "/training-job-searches"},
    "ModelArts details": {"service": "modelarts", "method": "GET", "path": r"/training-jobs/[^/]+$"},
    "ModelArts metrics": {"service": "modelarts", "method": "GET", "path": "/metrics"},
    "ModelArts events": {"service": "modelarts", "method": "GET", "path": "/events"},
    "ModelArts flavors": {"service": "modelarts", "method": "GET", "path": "/training-job-flavors"},
    "ModelArts stop": {"service": "modelarts", "method": "POST", "path": "/actions"},
}
FAULTS: dict[str, dict[str, Any]] = {
    "reset before": {"drop": "before"},
    "reset after": {"drop": "after"},
    "500": {"status": 500},
    "503": {"status": 503},
    "429": {"status": 429},
    "401": {"status": 401},
    "403": {"status": 403},
    "timeout": {"delay_s": 1.6},
    "truncated": {"truncate": 7},
    "slow": {"body_s": 0.8},
    "skew": {"clock_s": 3600},
}
TIMES = 3
"""How many requests in a row are hit."""

STARTS = (RunState.PREPARING, RunState.RUNNING)


def cases() -> Iterator[tuple[str, str, RunState, bool]]:
    """Call, fault, from when on, and whether somebody stops the run then."""
    for call in CALLS:
        for fault in FAULTS:
            stopped = call == "ModelArts stop"
            yield from ((call, fault, start, stopped) for start in (STARTS[1:] if stopped else STARTS))


def test_no_fault_loses_or_doubles_a_run(sandbox: SandboxProcess, tmp_path: Path) -> None:
    bench = bench_on(sandbox, tmp_path / "data", **{**IMPATIENT, "request_seconds": 1.0})
    with campaign("Faults on every kind of call", __file__) as row:
        outcomes = Counter(outcome_of(bench, sandbox, *case) for case in cases())
        row.repetitions = f"{outcomes.total()}: {len(FAULTS)} faults, {len(CALLS)} calls, from two states on"
        row.outcome = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())


def outcome_of(bench: Bench, sandbox: SandboxProcess, call: str, fault: str, start: RunState, stopped: bool) -> str:
    """What came of a run that met the fault; raises AssertionError when that is not right."""
    case = f"{fault} on {call} from {start} on"
    sandbox.faults()
    sandbox.script(outputs=GOOD, log="step 1\n", by="hold" if stopped else "look")
    run = bench.follow(bench.launch(), start)
    if stopped:
        bench.core.runs.stop(run.run_id, named(PERSON))
    sandbox.faults({**CALLS[call], **FAULTS[fault], "times": TIMES})
    ended = bench.follow(run)
    sandbox.faults()

    jobs = len(jobs_named(sandbox, run.job_name))
    assert bench.core.warehouse.runs.find_row(run.run_id), case
    if ended.state is RunState.FAILED and start is RunState.PREPARING:
        assert jobs == 0, f"{case}: {ended.detail}"
        assert_one_sentence(ended.detail)
        return "refused before there was a job"
    assert jobs == 1, case
    assert ended.state is (RunState.STOPPED if stopped else RunState.COMPLETED), f"{case}: {ended.detail}"
    return str(ended.state)
