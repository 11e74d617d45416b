"""The nouns: which moves are legal, how far a run has come, and when two specs are the same."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aisbench_core.config.settings import Profile
from aisbench_core.model import (
    ACTIVE,
    LINE,
    MOVES,
    TERMINAL,
    Channel,
    JobStatus,
    LogLevels,
    Mode,
    Phase,
    Progress,
    Run,
    RunSpec,
    RunState,
    Scalar,
    canonical_json,
)
from aisbench_core.store.run_folders import run_paths
from tests import records as a

HELD, P, U, SUB, Q, R, STOPPING, COL, DONE, FAILED, STOPPED = RunState
LEGAL = {
    (HELD, P), (HELD, STOPPING), (HELD, COL),
    (P, U), (P, STOPPING), (P, COL),
    (U, SUB), (U, STOPPING), (U, COL),
    (SUB, Q), (SUB, STOPPING), (SUB, COL),
    (Q, R), (Q, STOPPING), (Q, COL),
    (R, Q), (R, STOPPING), (R, COL),
    (STOPPING, COL),
    (COL, DONE), (COL, FAILED), (COL, STOPPED),
    (FAILED, COL),
}  # fmt: skip
PROFILE = Profile.model_validate(
    {"name": "lab", "region": "r1", "project_id": "p", "obs_server": "http://127.0.0.1:9", "bucket": "bench"}
)


def run_in(state: RunState, **changes: object) -> Run:
    return replace(a.run("r-1"), state=state, **changes)  # type: ignore[arg-type]  # the names are Run's own


@pytest.mark.parametrize(("before", "after"), list(product(RunState, RunState)))
def test_a_run_moves_only_as_the_table_says(before: RunState, after: RunState) -> None:
    run = run_in(before)
    if before is after or (before, after) in LEGAL:
        assert run.to(after, detail="moved") == replace(run, state=after, detail="moved")
        return

    with pytest.raises(ValueError, match=f"cannot go from {before} to {after}"):
        run.to(after)


def test_every_state_is_in_the_table_and_leads_to_an_end() -> None:
    assert set(MOVES) == set(RunState)
    assert {DONE, FAILED, STOPPED} == TERMINAL
    assert set(RunState) == ACTIVE | TERMINAL
    for state in ACTIVE - {COL}:
        assert COL in MOVES[state], "whatever happens, what is there is collected"


def test_every_run_that_is_not_ending_can_be_stopped() -> None:
    assert {state for state in RunState if run_in(state).can_stop} == {HELD, P, U, SUB, Q, R}


def test_only_a_failed_run_whose_job_existed_is_collected_again() -> None:
    assert run_in(FAILED, job_id="job").can_collect_again
    assert not run_in(FAILED, job_id="").can_collect_again
    assert not any(run_in(state, job_id="job").can_collect_again for state in set(RunState) - {FAILED})


def test_a_run_is_retrying_until_it_ends() -> None:
    assert run_in(R, attempts=1).is_retrying
    assert not run_in(R, attempts=0).is_retrying
    assert not run_in(FAILED, attempts=3).is_retrying


def test_the_stage_grows_along_the_line_and_is_full_only_for_a_completed_run() -> None:
    assert [run_in(state).stage for state in LINE] == [(done, len(LINE)) for done in range(len(LINE))]
    assert run_in(DONE).stage == (len(LINE), len(LINE))


@pytest.mark.parametrize("state", [STOPPING, FAILED, STOPPED])
def test_a_run_that_did_not_complete_shows_how_far_it_got(state: RunState) -> None:
    facts: list[dict[str, object]] = [
        {"code_sha256": ""}, {"code_sha256": "0a"}, {"submitted_at": a.T0}, {"job_id": "job"}, {"started_at": a.T0}
    ]  # fmt: skip
    run = run_in(state, code_sha256="", submitted_at=None, job_id="", started_at=None)
    stages = []
    for fact in facts:
        run = replace(run, **fact)  # type: ignore[arg-type]  # the names are Run's own
        stages.append(run.stage)

    assert stages == [(done, len(LINE)) for done in range(5)]


@pytest.mark.parametrize(
    ("done", "total", "fraction"), [(0, 4, 0.0), (1, 4, 0.25), (4, 4, 1.0), (5, 4, 1.0), (0, 0, 1)]
)
def test_progress_is_between_nothing_and_all(done: int, total: int, fraction: float) -> None:
    progress = Progress("r-1", U, done, total, "files", datetime.now(UTC))

    assert progress.fraction == fraction


@pytest.mark.parametrize(
    ("phase", "ended", "succeeded"),
    [
        (Phase.COMPLETED, True, True),
        (Phase.FAILED, True, False),
        (Phase.TERMINATED, True, False),
        (Phase.ABNORMAL, True, False),
        (Phase.TERMINATING, False, False),
        (Phase.RUNNING, False, False),
        ("AWordOfNextYear", False, False),
    ],
)
def test_a_job_has_ended_only_by_a_word_that_says_so(phase: str, ended: bool, succeeded: bool) -> None:
    status = JobStatus("job", "name", phase)

    assert (status.has_ended, status.succeeded) == (ended, succeeded)


# --- specs ----------------------------------------------------------------------------------------------


def test_a_spec_refuses_unknown_keys_and_counts_that_make_no_sense() -> None:
    for bad in ({"nodes": 2}, {"node_count": 0}, {"cards_per_node": 65}, {"priority": 4}, {"mode": "swarm"}):
        with pytest.raises(ValidationError, match=next(iter(bad))):
            RunSpec.model_validate({"workload": "w", **bad})


def test_a_hyperparameter_keeps_its_type() -> None:
    spec = RunSpec(workload="w", parameters={"text": "90", "number": 90, "flag": True, "rate": 0.1})

    back = RunSpec.model_validate_json(spec.model_dump_json())

    assert [type(value) for value in back.parameters.values()] == [str, int, bool, float]
    assert back == spec


def test_names_that_differ_in_white_space_alone_are_refused_rather_than_losing_a_value() -> None:
    for field in ("parameters", "environments"):
        with pytest.raises(ValidationError, match="must not contain 'lr' twice"):
            RunSpec.model_validate({"workload": "w", field: {"lr": "1", " lr": "2"}})


@given(
    st.dictionaries(st.text(min_size=1), st.integers() | st.text() | st.booleans(), max_size=5).filter(
        lambda parameters: len({name.strip() for name in parameters}) == len(parameters)
    )
)
def test_equal_specs_have_equal_hashes_whatever_the_order(parameters: dict[str, Scalar]) -> None:
    turned = dict(reversed(parameters.items()))

    one, other = (RunSpec(workload="w", parameters=given) for given in (parameters, turned))

    assert one.sha256 == other.sha256
    assert canonical_json(parameters) == canonical_json(turned)


def test_specs_that_differ_have_different_hashes() -> None:
    hashes = {a.spec(node_count=nodes, mode=mode).sha256 for nodes in (1, 2) for mode in Mode}

    assert len(hashes) == 4


def test_a_spec_counts_all_cards() -> None:
    assert a.spec(node_count=3, cards_per_node=8).card_count == 24


# --- where things of a run are --------------------------------------------------------------------------


@given(st.text("abcdefghijk-_", max_size=200))
def test_a_jobs_name_holds_the_runs_id_and_fits_the_cloud(name: str) -> None:
    run_id = "r20260301-080000-abcdef"

    made = run_paths.job_name(RunSpec(workload="w", name=name), run_id)

    assert made.endswith(f"-{run_id}")
    assert len(made) <= run_paths.JOB_NAME_MOST


def test_every_output_gets_a_directory_that_no_other_run_uses() -> None:
    channels = ({"name": "train_url"}, {"name": "other"}, {"name": "mine", "path": "/bench/mine/"})
    spec = RunSpec.model_validate({"workload": "w", "outputs": channels})
    one, other = (replace(a.run("r-1", spec), job_name=name) for name in ("job-1", "job-2"))

    paths = [channel.path for channel in run_paths.list_outputs(one, PROFILE)]

    assert paths == [
        "/bench/aisbench/output/job-1/", "/bench/aisbench/output/job-1/other/", "/bench/mine/job-1/mine/"
    ]  # fmt: skip
    assert run_paths.output_path(one, PROFILE) == paths[0]
    assert not set(paths) & {channel.path for channel in run_paths.list_outputs(other, PROFILE)}


def test_code_lies_where_its_hash_says_under_its_own_directory_name() -> None:
    spec = RunSpec(workload="w", code_dir="/home/me/resnet", boot_file="train.py")
    run = replace(a.run("r-1", spec), code_sha256="0123456789abcdef" * 4)

    request = run_paths.job_request(run, PROFILE, {})

    assert request.code_path == "/bench/aisbench/code/w/0123456789abcdef/resnet/"
    assert request.boot_path == request.code_path + "train.py"


def test_a_job_is_told_its_run_and_the_persons_own_variables_win() -> None:
    spec = RunSpec(workload="w", mode=Mode.SINGLE_SERVER, environments={"SINGLESERVER_MODE": "mine", "A": "1"})

    request = run_paths.job_request(a.run("r-1", spec), PROFILE, {})

    assert dict(request.environments) == {"AISBENCH_RUN_ID": "r-1", "SINGLESERVER_MODE": "mine", "A": "1"}


def test_a_job_is_told_its_log_levels_by_the_manuals_numbers() -> None:
    levels = {"cann": "none", "mindspore": "fatal", "events": False, "stdout": True}
    spec = RunSpec.model_validate({"workload": "w", "log_levels": levels})

    request = run_paths.job_request(a.run("r-1", spec), PROFILE, {})

    assert dict(request.environments) == {
        "AISBENCH_RUN_ID": "r-1",
        "ASCEND_GLOBAL_LOG_LEVEL": "4",
        "GLOG_v": "3",
        "ASCEND_GLOBAL_EVENT_ENABLE": "0",
        "ASCEND_SLOG_PRINT_TO_STDOUT": "1",
    }


def test_a_spec_is_stored_and_hashed_by_what_is_set_so_that_a_new_field_changes_neither() -> None:
    spec = RunSpec(workload="w", node_count=1, log_levels=LogLevels(), inputs=(Channel(name="data_url", path="/b/"),))

    assert spec.stored == {"workload": "w", "inputs": [{"name": "data_url", "path": "/b/"}]}
    assert spec.sha256 == hashlib.sha256(canonical_json(spec.stored).encode()).hexdigest()
    assert spec.model_copy(update={"log_levels": LogLevels(events=True)}).sha256 != spec.sha256


def test_the_folder_of_a_run_keeps_one_log_per_node() -> None:
    folder = run_paths.RunFolder(Path("runs/r-1"))

    assert folder.log(3) == Path("runs/r-1/logs/worker-3.log")
