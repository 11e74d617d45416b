"""The outcome of the rules about series: a frozen value, free of SQL."""

from dataclasses import dataclass

from aisbench_core.warehouse.values import Check, CheckLevel


@dataclass(frozen=True, slots=True)
class SeriesEvaluation:
    """The checks of one row of a series: its runs on one node count, in one version and image.

    The row counts if it has a valid run and no check failed. `image` is an engine version, or the address of an image.
    `ruleset_basis` is shown beside the ruleset's id."""

    series_id: str
    node_count: int | None
    framework_version: str
    image: str
    run_ids: tuple[str, ...]
    valid: int
    ruleset_id: str
    ruleset_basis: str
    checks: tuple[Check, ...]

    @property
    def runs(self) -> int:
        """The number of its runs, valid or not."""
        return len(self.run_ids)

    @property
    def counts(self) -> bool:
        """Whether statistics over its runs count."""
        return self.valid > 0 and not self.of_level(CheckLevel.FAIL)

    def of_level(self, level: CheckLevel) -> tuple[Check, ...]:
        """The checks of this level."""
        return tuple(check for check in self.checks if check.level is level)
