"""Which nodes are slow, from runs in which each node trains on its own: by the median of all nodes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, median

# Runs before nobody is named: one says nothing about spread.
FIRST_NODE_LOOK = 2


class NodeVerdict(StrEnum):
    """What is said of a node's speed."""

    OK = "ok"
    SLOW = "slow"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class NodeSpeed:
    """A node's share of the median node, with its one-sided bounds; None before FIRST_NODE_LOOK runs."""

    node: str
    verdict: NodeVerdict
    ratio: float
    lower: float | None = None
    upper: float | None = None


def judge_nodes(runs: Sequence[Mapping[str, float]], share: float, alpha: float, planned: int) -> dict[str, NodeSpeed]:
    """Every node that is in all runs, by name. `runs`: the speeds of each run by node, all above 0.

    Nodes are compared within each run, so that what slows a whole run slows nobody. Their spread between runs is pooled
    over all nodes. The error is spread over nodes and looks (Bonferroni): `alpha` is that of naming any good node, and
    of calling any slow one ok."""
    from scipy.special import stdtrit

    names = sorted(set.intersection(*(set(run) for run in runs))) if runs else []
    middles = [math.log(median(run.values())) for run in runs]
    logs = {name: [math.log(run[name]) - middle for run, middle in zip(runs, middles, strict=True)] for name in names}
    count, means = len(runs), {name: fmean(values) for name, values in logs.items()}
    if count < FIRST_NODE_LOOK or len(names) < 2:
        return {name: NodeSpeed(name, NodeVerdict.UNDECIDED, math.exp(mean)) for name, mean in means.items()}
    df = len(names) * (count - 1)
    variance = sum((value - means[name]) ** 2 for name in names for value in logs[name]) / df
    # The median node is uncertain, too: its variance is π/2 of that of a mean of all nodes.
    error = math.sqrt(variance / count * (1 + math.pi / 2 / len(names)))
    level = alpha / (len(names) * max(1, planned - FIRST_NODE_LOOK + 1))
    margin = -float(stdtrit(df, level)) * error
    return {name: _judge_node(name, mean, margin, math.log(share)) for name, mean in means.items()}


def _judge_node(name: str, mean: float, margin: float, limit: float) -> NodeSpeed:
    lower, upper = mean - margin, mean + margin
    verdict = NodeVerdict.OK if lower >= limit else NodeVerdict.SLOW if upper < limit else NodeVerdict.UNDECIDED
    return NodeSpeed(name, verdict, math.exp(mean), math.exp(lower), math.exp(upper))
