"""Really failing jobs are explained: cause, rank and lines on the command line, a corrected spec, and a message."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.model import Run, RunSpec, RunState
from aisbench_core.people.notifications.channels import channel_of
from tests.actors import named
from tests.ascend_fd_venv import venv_of
from tests.failure_corpus import answer
from tests.flow.command_line import CommandLine
from tests.flow.dying_jobs import WAYS, WITNESS, Way, died, spec_of
from tests.flow.following import PERSON, Bench, bench_on
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true


@pytest.fixture(scope="module")
def bench(real_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    real_sandbox.reset()
    bench = bench_on(real_sandbox, tmp_path_factory.mktemp("explain") / "data")
    told = {"name": "lab", "url": "feishu://nobody-there", "events": ["failed", "stopped"]}
    bench.core.notifications.channels.save(channel_of(told, Message("channel")), named(PERSON))
    yield bench
    real_sandbox.reset()


@pytest.fixture(scope="module")
def runs(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    return died(bench, tmp_path_factory.mktemp("dying"))


@pytest.fixture
def shell(bench: Bench, real_sandbox: SandboxProcess) -> CommandLine:
    return CommandLine(bench.core.settings.data_dir, real_sandbox)


@pytest.mark.parametrize("name", WAYS)
def test_a_job_that_dies_is_explained(name: str, bench: Bench, runs: Mapping[str, Run]) -> None:
    found = bench.core.causes.explain(runs[name].run_id)

    assert answer(found) == WAYS[name].cause
    if WAYS[name].rank is not None:
        assert found.error is not None
        assert (found.error.node, found.error.rank) == (0, WAYS[name].rank)


def test_the_command_prints_cause_lines_and_advice(runs: Mapping[str, Run], shell: CommandLine) -> None:
    run = runs["nan-of-rank-1"]

    text = shell.type("explain", run.run_id).stdout
    answered = json.loads(shell.type("explain", run.run_id, "--json").stdout)

    assert "The loss became NaN or infinite" in text
    assert "rank 1, node 0" in text
    assert "[rank1]: ValueError: loss is nan at step 2" in text
    assert (answered["cause"]["rule"], answered["error"]["rank"]) == ("nan-loss", 1)
    assert answered["cause"]["confidence"] == "likely"


def test_an_unknown_cause_is_said_to_be_unknown(runs: Mapping[str, Run], shell: CommandLine) -> None:
    text = shell.type("explain", runs["silent"].run_id).stdout

    assert "unknown" in text
    assert "[rank0]: step 1 loss 2.3" in text  # the last lines, for a person to read


def test_a_corrected_spec_can_be_launched_and_lacks_the_wrong_value(
    runs: Mapping[str, Run], shell: CommandLine, tmp_path: Path
) -> None:
    run = runs["wrong-value"]

    corrected = shell.type("explain", run.run_id, "--corrected").stdout
    (tmp_path / "spec.yaml").write_text(corrected)

    assert run.spec.parameters["learning_rate"] == 0.5
    assert from_yaml(corrected).parameters == {
        name: value for name, value in run.spec.parameters.items() if name != "learning_rate"
    }
    assert shell.type("preflight", str(tmp_path / "spec.yaml")).exit_code == 0


def test_a_run_without_a_correction_says_so(runs: Mapping[str, Run], shell: CommandLine) -> None:
    refused = shell.type("explain", runs["key-error"].run_id, "--corrected")

    assert refused.exit_code == 2
    assert "there is no correction for run" in refused.stderr


def test_a_message_about_a_failed_run_says_its_cause(bench: Bench, runs: Mapping[str, Run]) -> None:
    def told() -> dict[str, str]:
        deliveries, _ = bench.core.notifications.outbox.page(100)
        return {each.notification.subject: str(each.notification.text) for each in deliveries}

    def all_told() -> bool:
        bench.tick()
        return {run.run_id for run in runs.values()} <= told().keys()

    await_true(all_told, "the messages")

    assert "The disk of the node is full: " in told()[runs["full-disk"].run_id]
    assert "cause" not in told()[runs["silent"].run_id].lower()


def test_a_run_that_a_person_stopped_is_not_explained(bench: Bench, shell: CommandLine, tmp_path: Path) -> None:
    way = Way("time.sleep(600)", "stopped")
    run = bench.launch(spec_of(way, tmp_path / "code"))

    bench.await_tick(lambda: "step 1" in bench.core.files.log_tail(run.run_id, 0), "the job at work")
    bench.core.runs.stop(run.run_id, named(PERSON))
    bench.await_end(run)

    answered = shell.type("explain", run.run_id)

    assert bench.run(run).state is RunState.STOPPED
    assert answered.exit_code == 0
    assert "stopped" in answered.stdout
    assert "cause" not in answered.stdout


def test_ascend_fd_explains_a_failed_run_where_it_is_set_up(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    code = "if rank == 1:\n    raise RuntimeError('synchronize_and_free_events failed')\n" + WITNESS
    bench = bench_on(real_sandbox, tmp_path / "data", ascend_fd_venv=venv_of(tmp_path / "venv"))
    run = ended(bench, spec_of(Way(code, "ascend-fd", 1, ranks=2), tmp_path / "code"))

    text = CommandLine(bench.core.settings.data_dir, real_sandbox).type("explain", run.run_id).stdout

    assert "同步释放事件失败 (AISW_PyTorch_Train_25)" in text
    assert "ascend-fd suggests: 1. 检查训练脚本；" in text
    assert "synchronize_and_free_events failed" in text


def test_a_run_ends_as_ever_where_ascend_fd_fails(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    broken = venv_of(tmp_path / "venv", "echo No module named ascend_fd >&2; exit 1")
    bench = bench_on(real_sandbox, tmp_path / "data", ascend_fd_venv=broken)
    run = ended(bench, spec_of(WAYS["full-disk"], tmp_path / "code"))

    assert run.state is RunState.FAILED
    assert answer(bench.core.causes.explain(run.run_id)) == "disk-full"
    messages = [str(event.message) for event in bench.core.ledger.events(run.run_id)]
    assert "ascend-fd failed: No module named ascend_fd" in messages


def ended(bench: Bench, spec: RunSpec) -> Run:
    return bench.await_end(bench.launch(spec))
