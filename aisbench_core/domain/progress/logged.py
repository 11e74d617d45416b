"""What a log measured of a training at each step, and what that comes to between two steps."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from aisbench_core.domain.progress.following import Now
from aisbench_core.domain.progress.reading import Reading
from aisbench_core.domain.progress.styles import LAST_RANK, ProgressStyle
from aisbench_core.domain.progress.tracking import Tracker

MOST_STEPS = 1_000_000
"""That are remembered of one log."""

_AS_PRINTED = (
    *("loss", "batch", "tokens", "tokens_done", "mean_tokens_per_s", "memory_gb", "mfu", "tflops", "grad_norm"),
    "learning_rate",
)
_RATES = ("throughput", "samples_per_s", "tokens_per_s")
"""They are also printed of one card."""


@dataclass(frozen=True, slots=True)
class LogMeasures:
    """What a log comes to from the step `first` to `last`, which its lines are of; None is not printed.

    `ended`: the last step that the log names, also behind the window.

    Rates are of the whole job, `throughput` in the workload's unit; `mfu` (a fraction) and `tflops` (of a card) as the
    framework reports them; `loss` at the last step; `memory_gb`: the most that any line names."""

    first: int
    last: int
    step_s: float | None = None
    throughput: float | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    loss: float | None = None
    loss_step: int = 0
    mfu: float | None = None
    tflops: float | None = None
    memory_gb: float | None = None
    ended: int = 0
    step_times: tuple[tuple[int, float], ...] = ()
    """Seconds of each step, where the log prints every step."""
    apart: int = 0
    """How many steps the lines are apart that tell the speed, if none is of steps of the window alone."""


@dataclass(slots=True)
class LoggedTraining:
    """What the lines of one log say, by name and step. `positions`: how many lines of each style name a step."""

    tracker: Tracker
    values: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    positions: Counter[str] = field(default_factory=Counter)
    of_cards: set[str] = field(default_factory=set)
    """The rates that lines print of one card."""
    now: Now = field(default_factory=Now)
    _of_next: dict[str, float] = field(default_factory=dict)
    _elapsed: float = 0.0
    _elapsed_before: float = 0.0
    """In bars that ended: the next one begins at 0."""

    def add(self, readings: Sequence[Reading]) -> None:
        """What the next part of the log says."""
        for one in self.tracker.choose(readings):
            reading = self.tracker.follow(self.now, one)
            said = dict(self._iterate_values(reading))
            if reading.is_before:
                self._of_next |= said
                continue
            if reading.has_position:
                said, self._of_next = self._of_next | said, {}
                self.positions[reading.style] += 1
            self._remember(said, replaces=reading.has_position)

    def measure(self, first: int = 1, last: int | None = None) -> LogMeasures | None:
        """From one step to another, both included; None if no line names a step between them.

        A line that is printed every ten steps counts if all ten are between them."""
        named = {step for series in self.values.values() for step in series}
        steps = [step for step in named if first <= step <= (last or step)]
        if not steps:
            return None
        last = max(steps)
        window = _Window(self.values, first, last)
        measured_from, measured_to = window.find_measured() or (min(steps), last)
        card_batch = self.tracker.batch
        batch = window.average("batch") or (card_batch * self.tracker.count_cards() if card_batch else None)
        samples, tokens = window.rate("samples_per_s", batch), window.rate("tokens_per_s", window.tokens_per_step())
        counts_tokens = self.tracker.unit.lower().startswith("token")
        losses = {step: loss for step, loss in self.values["loss"].items() if first <= step <= last}
        return LogMeasures(
            first=measured_from,
            last=measured_to,
            step_s=window.seconds(),
            throughput=window.rate("throughput", None) or (tokens if counts_tokens else samples),
            samples_per_s=samples,
            tokens_per_s=tokens,
            loss=losses[max(losses)] if losses else None,
            loss_step=max(losses, default=0),
            mfu=window.average("mfu"),
            tflops=window.average("tflops"),
            memory_gb=max(self.values["memory_gb"].values(), default=None),
            ended=max(named),
            step_times=window.list_step_times(),
            apart=window.find_distance(),
        )

    def _iterate_values(self, reading: Reading) -> Iterator[tuple[str, float]]:
        for name in _AS_PRINTED:
            if (value := getattr(reading, name)) is not None:
                yield name, value
        for name in _RATES:
            card = getattr(reading, f"card_{name.removeprefix('card_')}")
            if (value := getattr(reading, name)) is not None:
                yield name, value
            elif card is not None:
                self.of_cards.add(name)
                yield name, card * self.tracker.count_cards()
        if reading.step_s is not None:  # a bar shows one that it smooths
            yield "bar_step_s" if reading.is_bar else "step_s", reading.step_s
        elif reading.interval_s is not None and self.now.step_s is not None:
            yield "step_s", self.now.step_s
        if reading.elapsed_s is not None:
            if reading.elapsed_s < self._elapsed:
                self._elapsed_before += self._elapsed
            self._elapsed = reading.elapsed_s
            yield "elapsed_s", self._elapsed_before + self._elapsed

    def _remember(self, said: Mapping[str, float], *, replaces: bool) -> None:
        step = self.now.step
        if step is None:
            return
        for name, value in said.items():
            series = self.values[name]
            if step in series:
                series[step] = value if replaces else series[step]
            elif len(series) < MOST_STEPS:
                series[step] = value


def choose_log(logs: Mapping[int, LoggedTraining], styles: Sequence[ProgressStyle]) -> LoggedTraining | None:
    """Of several nodes that of the one that says where the training is: at equal length, where its style prints."""
    last = {style.name for style in styles if style.prints_on == LAST_RANK}

    def rank_log(node: int) -> tuple[int, int]:
        positions = logs[node].positions
        style = max(positions, key=lambda name: positions[name], default="")
        return positions.total(), node if style in last else -node

    chosen = max(logs, key=rank_log)
    return logs[chosen] if logs[chosen].positions else None


@dataclass(frozen=True, slots=True)
class _Window:
    """The steps from `first` to `last`."""

    values: Mapping[str, Mapping[int, float]]
    first: int
    last: int

    def find_measured(self) -> tuple[int, int] | None:
        """The first and the last step that the lines are of which tell the speed."""
        entries = next(filter(None, map(self._list_entries, (*_RATES, "step_s", "elapsed_s", "bar_step_s"))), None)
        return (entries[0][0] - entries[0][1] + 1, entries[-1][0]) if entries else None

    def list_step_times(self) -> tuple[tuple[int, float], ...]:
        """The seconds of each step; of lines that are means of several steps there are none."""
        entries = self._list_entries("step_s")
        return tuple((step, value) for step, _, value in entries) if {weight for _, weight, _ in entries} == {1} else ()

    def find_distance(self) -> int:
        """0 if a line tells the speed within the window, or none does at all."""
        whole = _Window(self.values, 1, max((step for series in self.values.values() for step in series), default=1))
        if self.find_measured() or not whole.find_measured():
            return 0
        names = (*_RATES, "step_s", "elapsed_s", "bar_step_s")
        return max((weight for name in names for _, weight, _ in whole._list_entries(name)), default=0)

    def average(self, name: str) -> float | None:
        """Of what lines say of the steps since the line before."""
        entries = self._list_entries(name)
        return fsum(weight * value for _, weight, value in entries) / sum(w for _, w, _ in entries) if entries else None

    def seconds(self) -> float | None:
        """Of a step: as printed, by the time that has passed, or as bars show it."""
        return self.average("step_s") or self._grow("elapsed_s") or self.average("bar_step_s")

    def tokens_per_step(self) -> float | None:
        """As printed, or by those since the training began."""
        means, elapsed = self.values.get("mean_tokens_per_s", {}), self.values.get("elapsed_s", {})
        done = {step: mean * elapsed[step] for step, mean in means.items() if step in elapsed}
        return self.average("tokens") or self._grow("tokens_done") or self._grow_in(done)

    def rate(self, name: str, of_a_step: float | None) -> float | None:
        """A second: as printed, or of a step by its seconds."""
        entries = self._list_entries(name)
        if not entries:
            seconds = self.seconds()
            return of_a_step / seconds if of_a_step and seconds else None
        times = self.values.get("step_s", {})
        if all(step in times for step, *_ in entries):
            total = fsum(weight * times[step] for step, weight, _ in entries)
            return fsum(rate * weight * times[step] for step, weight, rate in entries) / total
        # Without times, each step is taken to do the same work.
        return sum(weight for _, weight, _ in entries) / fsum(weight / rate for _, weight, rate in entries)

    def _list_entries(self, name: str) -> list[tuple[int, int, float]]:
        """The step of each line, the steps that it is of, and its value."""
        series = sorted(self.values.get(name, {}).items())
        before = series[0][0] - (series[1][0] - series[0][0] if len(series) > 1 else 1) if series else 0
        entries = []
        for step, value in series:
            if self.first <= before + 1 and step <= self.last:
                entries.append((step, step - before, value))
            before = step
        return entries

    def _grow(self, name: str) -> float | None:
        return self._grow_in(self.values.get(name, {}))

    def _grow_in(self, series: Mapping[int, float]) -> float | None:
        """A step, from the end of the one before the first."""
        steps = [step for step in series if self.first - 1 <= step <= self.last]
        if len(steps) < 2:
            return None
        start, end = min(steps), max(steps)
        grown = (series[end] - series[start]) / (end - start)
        return grown if grown > 0 else None
