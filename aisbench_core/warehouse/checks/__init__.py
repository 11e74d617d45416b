"""The checks that the rules of a ruleset make of one run, each with what it expects and what it found."""

from aisbench_core.warehouse.checks.runs import CHECKS, NONE, division_of, no_result, target_of
from aisbench_core.warehouse.checks.times import listed

__all__ = ["CHECKS", "NONE", "division_of", "listed", "no_result", "target_of"]
