"""The run page says what the platform says about a job: that it hangs, why it was restarted, why it waits."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.domain.liveness.stalls import Observation, begin_watch
from aisbench_core.model import (
    Event,
    JobDetails,
    JobDiagnosis,
    JobStage,
    Level,
    QueuePosition,
    RunState,
    StageStep,
)
from aisbench_core.running.job_watch import write_details
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.watches import WatchLedger
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.console.conftest import OpenPage, log_of, texts
from tests.console.job_details import AGAIN, AT, BROKEN, HANG, INTERRUPTED
from tests.console.seeds import FAILED_RUN, RETRYING_RUN


def store(data: Path, run_id: str, details: JobDetails) -> None:
    write_details(details, RunFolder(data / "runs" / run_id))


def test_a_suspected_hang_is_the_banner_of_the_run_in_the_list_of_active_ones(open_page: OpenPage, used: Path) -> None:
    store(used, RETRYING_RUN, JobDetails((HANG,), attempts=(replace(AGAIN, number=1),)))

    english = open_page("live")
    chinese = open_page("live", lang="zh")

    assert "The platform suspects that the job hangs." in [error.value.partition(" ·")[0] for error in english.error]
    assert any(error.value.startswith("平台检测到作业疑似卡死") for error in chinese.error)


def test_the_page_of_a_run_that_hangs_says_so_once_with_what_to_do(open_page: OpenPage, used: Path) -> None:
    store(used, RETRYING_RUN, JobDetails((HANG,), attempts=(replace(AGAIN, number=1),)))

    app = open_page("live", run=RETRYING_RUN)

    assert "What to do" in texts(app)
    assert texts(app).count("The job hangs, according to the platform") == 1
    assert list(app.error) == []


@pytest.mark.parametrize("page", ["runs", "home"])
def test_lists_of_active_runs_mark_it(open_page: OpenPage, used: Path, page: str) -> None:
    before = texts(open_page(page))
    store(used, RETRYING_RUN, JobDetails((HANG,), attempts=(replace(AGAIN, number=1),)))
    hangs = texts(open_page(page))
    store(used, RETRYING_RUN, JobDetails(attempts=(BROKEN, AGAIN)))

    restarted = texts(open_page(page))

    assert ("Suspected hang" in before, "Suspected hang" in hangs, "Suspected hang" in restarted) == (
        False,
        True,
        False,
    )
    assert "Restarted" in restarted


def test_a_restart_is_the_banner_and_both_attempts_are_on_the_page(open_page: OpenPage, used: Path) -> None:
    store(
        used,
        RETRYING_RUN,
        JobDetails(attempts=(BROKEN, AGAIN), stages=(JobStage(2, "running", "Running", "运行", AT),)),
    )

    app = open_page("live", run=RETRYING_RUN)

    (banner,) = [warning.value for warning in app.warning if "restarted" in warning.value]
    assert "this is attempt 2" in banner
    assert r"worker\-3 on 192\.168\.7\.3" in banner or "worker-3 on 192.168.7.3" in banner
    assert ">HCCL timeout *rank 3*</div>" in log_of(app)
    assert "Attempts" in [section.label for section in app.expander]


def test_a_failed_run_shows_the_last_lines_that_its_job_wrote(open_page: OpenPage, used: Path) -> None:
    store(used, FAILED_RUN, INTERRUPTED)

    app = open_page("live", run=FAILED_RUN)

    assert "HCCL timeout" in log_of(app)
    assert not [warning for warning in app.warning if "restart" in warning.value]


def test_a_failed_run_shows_what_the_platform_found(open_page: OpenPage, used: Path) -> None:
    store(used, FAILED_RUN, INTERRUPTED)
    english, chinese = (open_page("live", run=FAILED_RUN, lang=lang) for lang in ("en", "zh"))
    store(used, FAILED_RUN, JobDetails(diagnosis=JobDiagnosis(is_complete=False)))
    going = open_page("live", run=FAILED_RUN)
    store(used, FAILED_RUN, JobDetails(diagnosis=JobDiagnosis(is_complete=True)))
    clean = open_page("live", run=FAILED_RUN)

    (found,) = (each.value for each in english.dataframe if "Fault" in each.value)
    assert found.to_dict("records") == [
        {
            "Fault": "HCCL-17",
            "Details": "class: communication · hint: look at *rank 3*",
            "Found in": "worker: worker-3",
        }
    ]
    assert "Level: Error." in texts(english)
    assert "平台诊断结果" in texts(chinese)
    assert "still working on it" in texts(going)
    assert "found no known fault" in texts(clean)


def test_a_waiting_run_shows_its_place_and_the_reason_in_the_readers_language(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = ledger.get(RETRYING_RUN)
    spec = run.spec.model_copy(update={"pool_id": "p"})
    ledger.advance(run, replace(run, state=RunState.QUEUED, attempts=0, spec=spec))
    waits = JobStage(
        1, "scheduling", "Scheduling", "调度", AT, None, (StageStep(AT, "No free nodes.", "没有空闲节点。"),)
    )
    store(used, RETRYING_RUN, JobDetails(stages=(waits,), queue=(QueuePosition(AT, 2, 5),)))

    english, chinese = (texts(open_page("live", run=RETRYING_RUN, lang=lang)) for lang in ("en", "zh"))

    assert "Place 2 of 5 in the queue of p" in english
    assert "No free nodes" in english
    assert "没有空闲节点" in chinese


def test_a_damaged_file_hides_nothing_else(open_page: OpenPage, used: Path) -> None:
    store(used, RETRYING_RUN, JobDetails())
    RunFolder(used / "runs" / RETRYING_RUN).job.write_text("{")

    app = open_page("live", run=RETRYING_RUN)

    assert not app.exception
    assert "Timeline" in [section.label for section in app.expander]


def test_elapsed_time_never_runs_backwards(open_page: OpenPage, used: Path) -> None:
    """The platform's times have whole seconds: its events can be older than those before them."""
    ledger, began = Ledger(used / "ledger.sqlite3"), AT + timedelta(seconds=0.9)
    ledger.add(a.run("fresh", created_at=began, state=RunState.RUNNING, ended_at=None, duration_s=None))
    for seconds in (0.0, 3.7):
        at = began + timedelta(seconds=seconds)
        ledger.note(Event("fresh", at, "console", Level.INFO, Message("retry {number}", number=seconds), "ann"))
    store(used, "fresh", JobDetails(events=(replace(HANG, at=AT + timedelta(seconds=4)), replace(HANG, at=AT))))

    [timeline] = [table.value for table in open_page("live", run="fresh").dataframe if "Elapsed" in table.value]

    assert [*timeline["Elapsed"]] == ["0 s", "0 s", "3.7 s", "3.7 s"]


def test_a_stall_is_a_banner_and_a_mark_until_there_is_a_sign_of_life(open_page: OpenPage, used: Path) -> None:
    watches = WatchLedger(Ledger(used / "ledger.sqlite3"))
    quiet = begin_watch(Observation(AT, 1, 100), AT)
    watches.save(RETRYING_RUN, "resnet 8x8", replace(quiet, stalled_at=AT))

    page, runs = open_page("live", run=RETRYING_RUN), open_page("runs")
    active, chinese = open_page("live"), open_page("live", lang="zh")
    watches.save(RETRYING_RUN, "resnet 8x8", quiet)
    later = open_page("live", run=RETRYING_RUN)

    assert "The job gave no sign of life" in texts(page)
    assert any("No sign of life since then" in error.value for error in active.error)
    assert any("没有任何进展迹象" in error.value for error in chinese.error)
    assert "Suspected hang" in texts(runs)
    assert "no sign of life" not in texts(later)
