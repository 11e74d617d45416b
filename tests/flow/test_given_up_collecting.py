"""What this console wrote of a run is known as its own, wherever collecting it was given up, and nothing else is."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.model import RunState
from aisbench_core.running.follower import Following
from aisbench_core.wiring import Core
from tests.actors import TESTER
from tests.flow.following import GOOD, Bench, bench_on
from tests.sandbox_process import SandboxProcess

ORDER = ("events.jsonl", "metrics.jsonl", "record.json", "train_result_info.json")
"""In which collecting writes what it does not fetch."""


@dataclass
class Interruption:
    """Ends collecting after some of ORDER were written, before they are sealed."""

    core: Core
    written: int
    before: dict[Path, bytes | None] = field(default_factory=dict)

    def expect(self, run_id: str, contents: Mapping[str, bytes]) -> None:
        files = [self.core.settings.runs_dir / run_id / name for name in ORDER]
        self.before = {file: file.read_bytes() if file.exists() else None for file in files}
        self.core.following.expect(run_id, contents)

    def seal(self, _: Iterable[str]) -> None:
        for file, content in list(self.before.items())[self.written :]:
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(content)
        raise ResultError(make_verbatim("given up"))

    @property
    def following(self) -> Following:
        return replace(self.core.following, expect=self.expect, seal=self.seal)


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data")


def differing(core: Core) -> list[str]:
    """What a check names, but for that the warehouse has to be rebuilt."""
    found = [str(damage.sentence) for damage in core.storage.check(TESTER).damages]
    return [sentence for sentence in found if "warehouse" not in sentence and "its folder says" not in sentence]


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("written", range(len(ORDER) + 1))
def test_what_was_written_before_collecting_was_given_up_is_known(
    bench: Bench, written: int, is_recorded: bool
) -> None:
    core, interruption = bench.core, Interruption(bench.core, written)
    run = bench.follow(bench.launch(), None if is_recorded else RunState.COLLECTING)
    if is_recorded:
        bench.clock.move(60)
        run = core.ledger.advance(run, replace(run, state=RunState.COLLECTING, next_step_at=bench.clock()))
    given_up = replace(bench, follower=interruption.following.follower()).follow(run)
    assert (given_up.state, given_up.detail) == (RunState.FAILED, "given up")

    assert differing(core) == []
    core.storage.rebuild(TESTER)
    assert core.storage.check(TESTER).damages == ()

    record = core.settings.runs_dir / run.run_id / "record.json"
    if record.exists():
        honest = record.read_bytes()
        record.write_bytes(honest.replace(b"tester", b"nobody"))
        assert differing(core) != []
        record.write_bytes(honest)
    assert bench.follow(core.runs.collect_again(run.run_id, TESTER)).state is RunState.COMPLETED
    assert core.storage.check(TESTER).damages == ()


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_record_of_somebody_else_does_not_say_when_a_run_ended(bench: Bench, is_recorded: bool) -> None:
    other, run = bench.follow(bench.launch()), bench.follow(bench.launch(), None if is_recorded else RunState.RUNNING)
    runs = bench.core.settings.runs_dir
    honest = (runs / other.run_id / "record.json").read_text("utf-8")
    planted = re.sub(r'"total_end_time": ?"[^"]*"', '"total_end_time": "2001-02-03T04:05:06Z"', honest)
    assert planted != honest
    (runs / run.run_id / "record.json").write_text(planted, "utf-8")

    if is_recorded:
        run = bench.core.ledger.advance(run, replace(run, state=RunState.COLLECTING, next_step_at=bench.clock()))
    ended = bench.follow(run)

    record = bench.core.files.record(ended.run_id)
    assert record
    assert record.result
    assert record.result.info.total_end_time
    assert bench.clock() - timedelta(minutes=1) < record.result.info.total_end_time <= bench.clock()
