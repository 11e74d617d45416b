"""The answer of `aisbench regress`, as each of its formats shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aisbench_core.interfaces.cli import display
from aisbench_core.warehouse.values import trend_verdicts


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """The verdicts of one region, and the name of each group by its id."""

    region: str
    regressions: trend_verdicts.Regressions
    names: Mapping[str, str]

    @property
    def total(self) -> int:
        return self.regressions.total

    def name_of(self, group: trend_verdicts.TrendVerdict) -> str:
        return self.names[group.row.group.id]

    def groups_with(self, outcome: str) -> Sequence[trend_verdicts.TrendVerdict]:
        return [group for group in self.regressions.groups if group.verdict.outcome == outcome]

    @property
    def counts(self) -> str:
        """How much was tested, on one line, and in how many groups there was too little."""
        shown = len(self.regressions.groups)
        groups = f"{shown} of {self.total} groups" if self.total > shown else display.format_count(shown, "group")
        # The exit code is that of the other groups, so CI logs must name these.
        without = len(self.groups_with("not enough data"))
        undecided = f"; not enough data in {display.format_count(without, 'group')}" if without else ""
        kind = display.REHEARSALS if self.regressions.rehearsal else "measurements"
        return f"{self.region}: {groups}, {self.regressions.tests} tests; {kind}{undecided}"
