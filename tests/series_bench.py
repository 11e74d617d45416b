"""Series without a region: cells are admitted as a follower does it, and tests say how their runs end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from aisbench_core.base.clock import utc_now
from aisbench_core.config.settings import Settings
from aisbench_core.model import Run, RunMetric, RunSpec, RunState, Series
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import named
from tests.flow.following import PERSON, MovableClock

SPEC = RunSpec(workload="quickstart_digits", cards_per_node=2)
PROFILE = """\
region: sandbox
project_id: sandbox-project
obs_server: http://127.0.0.1:9
modelarts_endpoint: http://127.0.0.1:9
bucket: sandbox-bench
rehearsal: true
flavor: sandbox.cpu.2cards
price_per_node_hour: {sandbox.cpu.2cards: 12.5}
"""


@dataclass
class SeriesBench:
    """A core whose region is switched off, its clock, and what a follower does for series."""

    core: Core
    clock: MovableClock
    admit_cells: Callable[[], None]

    @classmethod
    def on(cls, data_dir: Path, **changes: Any) -> "SeriesBench":
        """A bench over a data folder. A second one on the same folder is a new process after a crash."""
        profiles = data_dir / "profiles"
        profiles.mkdir(parents=True, exist_ok=True)
        if not (profiles / "quiet.yaml").exists():
            (profiles / "quiet.yaml").write_text(PROFILE, "utf-8")
        clock = MovableClock(utc_now())
        settings = Settings(data_dir=data_dir, profile="quiet", request_seconds=2, look_seconds=1, **changes)
        core = open_core(settings, clock)
        return cls(core, clock, core.series.admission())

    def launch(self, spec: RunSpec = SPEC, answers: Mapping[str, Any] | None = None, **more: Any) -> Series:
        """A new series, some seconds after the last."""
        self.clock.move(5)
        plan = self.core.series.plan(spec, {**(answers or {}), **more}).plan
        return self.core.series.launch(plan, "", named(PERSON))

    def look(self, series: Series) -> Matrix:
        """The series as it stands."""
        return self.core.series.matrix(series.series_id)

    def admit(self) -> list[Run]:
        """Launch what there is room for; the active runs, by series and cell."""
        self.admit_cells()
        return sorted(self.core.ledger.active(), key=lambda run: (run.series_id, run.series_index or 0))

    def start(self, run: Run) -> Run:
        """Let the job of a run begin now."""
        return self._move(run, RunState.RUNNING, started_at=self.clock())

    def end(
        self,
        run: Run,
        throughput: float = 200.0,
        hours: float = 0.5,
        state: RunState = RunState.COMPLETED,
        code: str = "c0de" * 16,
        accuracy: float = 0.76,
        metrics: tuple[RunMetric, ...] = (),
    ) -> Run:
        """Let a run have ended after so many hours, with this throughput over all cards."""
        began = self.clock()
        ended = began + timedelta(hours=hours)
        after = self._move(run, state, started_at=began, ended_at=ended, duration_s=hours * 3600, code_sha256=code)
        cards = [throughput / run.spec.card_count] * run.spec.card_count
        made = a.record(run.run_id, region="sandbox", rehearsal=True)
        found = a.result(run.spec, cards)
        found = replace(found, info=replace(found.info, accuracy=accuracy))
        self.core.series.record(replace(made, run=after, result=found, metrics=metrics))
        return after

    def end_all(self, series: Series, throughput: float = 200.0, hours: float = 0.5) -> Matrix:
        """Carry the whole series out, every run alike."""
        for _ in self.look(series).cells:
            for run in self.admit():
                self.end(run, throughput, hours)
        return self.look(series)

    def _move(self, run: Run, state: RunState, **changes: Any) -> Run:
        now = self.core.ledger.get(run.run_id)
        return self.core.ledger.advance(now, replace(now, state=state, **changes))
