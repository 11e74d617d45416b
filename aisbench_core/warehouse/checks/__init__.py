"""What each rule of a ruleset looks at in one run, with what it expects and found."""

from aisbench_core.warehouse.checks.of_runs import LOOKS, NONE, division_of, no_result, target_of
from aisbench_core.warehouse.checks.of_times import listed

__all__ = ["LOOKS", "NONE", "division_of", "listed", "no_result", "target_of"]
