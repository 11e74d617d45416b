"""What the platform says about a job: two languages, levels, and the time used."""

from aisbench_sandbox.events import PlatformEvent


def test_an_event_of_a_task_names_it_and_tells_the_time_used_where_there_is_one() -> None:
    running = PlatformEvent(0, "precheck_started", {"task": "worker-1"})
    done = PlatformEvent(0, "precheck_done", {"task": "worker-1", "seconds": "0.5"})

    assert running.message("zh-cn") == "[worker-1] 训练环境预检中"
    assert done.message("zh-cn") == "[worker-1][耗时：0.5秒] 预检完成"
    assert done.message("en-us") == "[worker-1][time used: 0.5s] Environment check finished."
    assert (done.source, done.level) == ("Task", "Info")


def test_an_event_of_a_pod_is_english_in_both_languages() -> None:
    pulled = PlatformEvent(
        0, "image_pulled", {"task": "worker-0", "pod": "modelarts-job-1-worker-0", "image": "org/x:1"}
    )

    assert (pulled.source, pulled.level) == ("K8S", "Info")
    assert pulled.message("zh-cn") == pulled.message("en-us")
    assert pulled.message("en-us").startswith("[Pod: modelarts-job-1-worker-0] Pulled: Container image org/x:1")


def test_braces_in_what_an_event_tells_are_text() -> None:
    failed = PlatformEvent(0, "code_failed", {"task": "worker-0", "reason": "cannot read {x}"})

    assert failed.message("en-us") == "[worker-0] Download training code failed. Cause: cannot read {x}"
    assert failed.level == "Error"


def test_an_exit_code_other_than_0_is_an_error() -> None:
    ends = [PlatformEvent(0, "task_finished", {"task": "worker-0", "code": code}) for code in ("0", "1")]

    assert [end.level for end in ends] == ["Info", "Error"]


def test_what_happens_to_the_whole_job_is_said_without_a_task() -> None:
    preempted = PlatformEvent(0, "preempted")

    assert (preempted.source, preempted.message("zh-cn")) == ("Job", "训练作业被抢占")
