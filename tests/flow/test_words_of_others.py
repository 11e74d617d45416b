"""What jobs, people and clouds say is the same in every language, on its way through ledger, record and page."""

from pathlib import Path

import pytest

from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.model import Event, Run, RunState
from pages._ui.shell.words import Language, Words
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT
from tests.sandbox_process import SandboxProcess

CHINESE = Words(Language.ZH)
ANYBODYS = ["ValueError: all", "RuntimeError: none", "running", "failed", "note: running", "the job ended as Failed"]


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


def told(bench: Bench, run: Run) -> list[str]:
    """The run's timeline as a Chinese page shows it."""
    return [in_chinese(event.message) for event in bench.core.ledger.events(run.run_id)]


def recorded(bench: Bench, run: Run) -> tuple[Run, tuple[Event, ...]]:
    record = bench.core.files.record(run.run_id)
    assert record is not None
    return record.run, record.events


@pytest.mark.parametrize("said", ANYBODYS)
def test_what_a_job_dies_of_is_told_in_its_own_words(bench: Bench, sandbox: SandboxProcess, said: str) -> None:
    sandbox.script(by="look", exit_code=3, message=said, outputs={})

    run = bench.follow(bench.launch())

    expected = f"作业以 Failed 结束；worker-0: {said}"
    assert in_chinese(run.detail) == expected
    assert told(bench, run)[-2:] == [f"开始收集结果：{expected}", f"失败：{expected}"]
    kept, events = recorded(bench, run)
    assert in_chinese(kept.detail) == expected
    assert f"开始收集结果：{expected}" in [in_chinese(event.message) for event in events]


@pytest.mark.parametrize("name", ["all", "none", "running", "failed"])
def test_a_run_and_a_person_can_have_any_name(bench: Bench, sandbox: SandboxProcess, name: str) -> None:
    sandbox.script(by="hold")
    run = bench.core.runs.launch(SPEC.model_copy(update={"name": name}), "sandbox", named(name))
    run = bench.follow(run, RunState.RUNNING)
    bench.core.runs.stop(run.run_id, named(name))
    run = bench.follow(run)

    assert in_chinese(run.detail) == f"由 {name} 停止"
    assert f"由 {name} 请求停止" in told(bench, run)
    assert told(bench, run)[-2:] == [f"开始收集结果：由 {name} 停止", "已停止"]
    launched = bench.core.ledger.events(run.run_id)[0]
    assert CHINESE.actor(launched.actor, launched.source) == name
    assert {CHINESE.actor(event.actor, event.source) for event in recorded(bench, run)[1] if event.actor == name} == {
        name
    }


def test_trouble_that_passes_and_who_follows_are_told_in_chinese(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.RUNNING)
    sandbox.kill()
    bench.tick()

    now = bench.run(run)
    follower = bench.core.ledger.events(run.run_id)[-1].actor

    assert now.explanation == f"retrying: {now.detail}"
    assert isinstance(now.detail, Message)
    assert in_chinese(now.explanation) == f"稍后重试：{in_chinese(now.detail)}"
    assert "（进程 " in CHINESE.actor(follower, "follower")
    beat = bench.core.ledger.last_beat()
    assert beat is not None
    assert in_chinese(beat.who) == CHINESE.actor(follower, "follower")
    sandbox.resume()


def test_a_result_that_is_given_up_tells_who_and_why(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    sandbox.kill()
    bench.tick()
    error = bench.run(run).detail

    bench.core.runs.stop(run.run_id, named(PERSON))

    ended = bench.run(run)
    assert ended.detail == f"collecting was given up by {PERSON}: {error}"
    assert in_chinese(ended.detail) == f"{PERSON} 放弃了收集：{in_chinese(error)}"
    sandbox.resume()


def test_a_launch_tells_its_size_and_what_it_reproduces(bench: Bench) -> None:
    run = bench.core.runs.launch(SPEC, "sandbox", named(PERSON), reproduces="all")

    assert told(bench, run) == ["已启动：1 × 2 张卡，配置档案 sandbox；复现 all"]
