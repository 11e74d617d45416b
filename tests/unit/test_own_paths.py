"""A clean-up only reaches directories that are named after the run's own job, whatever a path or a name looks like."""

from pathlib import PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aisbench_core.base.errors import SpecError
from aisbench_core.config.settings import Profile
from aisbench_core.model import Channel, RunPart
from aisbench_core.running.cleaning.own_paths import has_overlap, own_directories, own_directory
from aisbench_core.store.run_folders import run_paths
from tests import records as a

RUN = a.run("r20260301-080000-abc123", job_name="digits-r20260301-080000-abc123")
OTHER = a.run("r20260301-080000-abc1234", job_name="digits-r20260301-080000-abc1234")
PROFILE = Profile.model_validate(
    {"name": "lab", "region": "here", "project_id": "p", "obs_server": "http://127.0.0.1:1", "bucket": "bench"}
)

HOSTILE = (
    "", "/", "//", ".", "..", "/..", "/../", "/bench", "/bench/", "/bench//", "bench/", "obs://bench/", "\\", "\0",
    "結果/", "ﬀ",
    RUN.job_name, f"{RUN.job_name}/", f"/{RUN.job_name}/", f"/{RUN.job_name}/x/", f"/bench/{RUN.job_name}",
    f"/bench/{RUN.job_name}0/", f"/bench/{RUN.job_name[:-1]}/", f"/bench/x{RUN.job_name}/", f"/bench/{RUN.run_id}/",
    f"/bench/out/{OTHER.job_name}/", f"/bench/../{RUN.job_name}/", f"/bench/{RUN.job_name}/../",
    f"/bench//{RUN.job_name}/",
    f"/bench/{RUN.job_name}\0/", f"/bench/{RUN.job_name.upper()}/", f"/bench/{RUN.job_name}\u200b/",
)  # fmt: skip
PIECES = st.sampled_from([*HOSTILE, "/", "..", "bench", "output", RUN.job_name, OTHER.job_name, "run-1", "run-10"])


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_is_not_the_runs_own_is_refused(path: str) -> None:
    with pytest.raises(SpecError):
        own_directory(path, RUN)


@given(st.one_of(st.text(), st.lists(PIECES | st.text(max_size=5)).map("/".join), st.lists(PIECES).map("".join)))
@example(f"/bench/out/{RUN.job_name}/V1/")
@example(f"/bench/out/{RUN.job_name}/{OTHER.job_name}/")
@example(f"/bench/out/{OTHER.job_name}/{RUN.job_name}/")
def test_whatever_is_accepted_ends_with_the_runs_job_and_is_below_a_bucket(path: str) -> None:
    try:
        own = own_directory(path, RUN)
    except SpecError:
        return

    assert own.endswith(f"/{RUN.job_name}/")
    assert path.startswith(own)
    assert len(PurePosixPath(own).parts) >= 3
    assert not {"", ".", ".."} & set(own.split("/")[1:-1])
    assert own != f"/{RUN.job_name}/", "the first name is the bucket's"


@given(st.text(max_size=8), st.text(max_size=8))
@example("r-1", "r-10")
@example("r-10", "r-1")
def test_no_object_of_another_run_is_below_a_runs_directory(one: str, other: str) -> None:
    job, neighbour = (a.run(run_id, job_name=f"job-{run_id}") for run_id in (one, other))
    try:
        own = own_directories(job, PROFILE, RunPart.OUTPUTS) + own_directories(job, PROFILE, RunPart.LOGS)
    except SpecError:
        return

    if one != other:
        theirs = [
            *(output.path for output in run_paths.list_outputs(neighbour, PROFILE)),
            run_paths.log_path(neighbour, PROFILE),
        ]
        assert not [path for path in theirs for mine in own if f"{path}file".startswith(mine)]


@pytest.mark.parametrize("job_name", ["", "digits", RUN.run_id, OTHER.job_name])
def test_a_run_whose_jobs_name_lacks_its_id_has_no_directory_of_its_own(job_name: str) -> None:
    with pytest.raises(SpecError):
        own_directory(f"/bench/output/{job_name}/", a.run(RUN.run_id, job_name=job_name))


def test_outputs_with_paths_of_their_own_are_found_and_those_inside_others_are_not_named_twice() -> None:
    outputs = (Channel(name="train_url"), Channel(name="extra"), Channel(name="big", path="/large/out/"))
    run = a.run(RUN.run_id, a.spec(outputs=outputs, log_path="/bench/logs/"), job_name=RUN.job_name)

    assert own_directories(run, PROFILE, RunPart.OUTPUTS) == (
        f"/bench/aisbench/output/{RUN.job_name}/",
        f"/large/out/{RUN.job_name}/",
    )
    assert own_directories(run, PROFILE, RunPart.LOGS) == (f"/bench/logs/{RUN.job_name}/",)


def test_a_log_directory_among_the_outputs_is_noticed() -> None:
    assert has_overlap(["/bench/out/x/"], ["/bench/out/x/"])
    assert has_overlap(["/bench/out/"], ["/bench/out/x/"])
    assert not has_overlap(["/bench/out/x-1/"], ["/bench/out/x-10/"])
