"""What the rules about series say of one row of a series: a frozen value, free of SQL."""

from dataclasses import dataclass

from aisbench_core.warehouse.values import Check, CheckLevel


@dataclass(frozen=True, slots=True)
class SeriesVerdict:
    """What the rules about series say of one row of a series: its runs on one node count, in one version and image.

    It counts when it has a valid run and no check failed. `image` is an engine version, or the address of an image.
    `ruleset_basis`: what to say beside the ruleset's id."""

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
        """How many there are, whatever they are worth."""
        return len(self.run_ids)

    @property
    def counts(self) -> bool:
        """Whether its runs may be taken together."""
        return self.valid > 0 and not self.of_level(CheckLevel.FAIL)

    def of_level(self, level: CheckLevel) -> tuple[Check, ...]:
        """The checks that ended so."""
        return tuple(check for check in self.checks if check.level is level)
