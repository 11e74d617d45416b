"""Amdahl's law fitted to runs on different node counts: what it recovers, how sure it is, and when it says nothing."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.domain.statistics.amdahl import AmdahlFit, FitProblem, SizeRuns, fit_amdahl

ONE_NODE = 8000.0
SIZES = (1, 2, 4, 8)


def lawful(serial: float, nodes: int) -> float:
    """Throughput that follows the law."""
    return ONE_NODE / (serial + (1 - serial) / nodes)


def simulated(serial: float, runs: int, seed: int, cv: float = 0.01, sizes: Sequence[int] = SIZES) -> list[SizeRuns]:
    """So many runs on each node count, that vary by chance."""
    chance = np.random.default_rng(seed)
    return [SizeRuns.of(n, list(lawful(serial, n) * np.exp(chance.normal(0, cv, runs)))) for n in sizes]


def exactly(**throughputs: float) -> AmdahlFit:
    """One run on each node count, named n1, n2, …"""
    return fit_amdahl([SizeRuns.of(int(name[1:]), [value]) for name, value in throughputs.items()])


@settings(deadline=None, max_examples=60)
@given(serial=st.floats(0.0005, 0.9), base=st.sampled_from([1, 2, 3]))
def test_runs_that_follow_the_law_give_their_serial_share_back(serial: float, base: int) -> None:
    sizes = [base * n for n in SIZES]

    fit = fit_amdahl([SizeRuns.of(n, [lawful(serial, n)] * 2) for n in sizes])

    assert fit.problem is None
    assert fit.serial
    assert fit.serial.value == pytest.approx(serial, rel=1e-3)
    assert fit.one_node == pytest.approx(ONE_NODE, rel=1e-4)
    ahead = fit.speed_up(4 * max(sizes), base)
    assert ahead
    assert ahead.value == pytest.approx(lawful(serial, 4 * max(sizes)) / lawful(serial, base), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("serial", [0.005, 0.05])
def test_the_interval_holds_the_true_share_in_95_of_100_cases(serial: float, runs: int) -> None:
    fits = [fit_amdahl(simulated(serial, runs, seed)) for seed in range(200)]

    found = [fit.serial for fit in fits if fit.serial]
    held = sum(share.low <= serial <= (share.high or 0) for share in found)
    assert len(found) >= 194  # 1 of 100 is called a misfit by chance
    assert 0.90 <= held / len(found) <= 0.99


def test_more_runs_make_it_surer() -> None:
    few, many = (fit_amdahl(simulated(0.02, runs, 7)).speed_up(16, 1) for runs in (2, 20))

    assert few
    assert many
    assert few.low < many.low < lawful(0.02, 16) / lawful(0.02, 1) < (many.high or 0) < (few.high or 0)


def test_two_node_counts_can_contradict_nothing() -> None:
    fit = fit_amdahl([SizeRuns.of(1, [100.0] * 5), SizeRuns.of(2, [190.0] * 5)])

    assert (fit.problem, fit.serial, fit.residuals) == (FitProblem.TOO_FEW, None, ())
    assert fit.speed_up(16, 1) is None
    assert fit.limit(1) is None


def test_runs_beside_the_law_get_residuals_and_no_share() -> None:
    fit = exactly(n1=100, n2=195, n4=380, n8=390, n16=1500)

    assert (fit.problem, fit.serial) == (FitProblem.NOT_AMDAHL, None)
    assert min(fit.residuals, key=lambda each: each[1])[0] == 8


def test_what_repeated_runs_cannot_explain_is_a_misfit_and_what_they_can_is_not() -> None:
    kink = {1: 100.0, 2: 198.0, 4: 370.0, 8: 775.0}
    quiet = [SizeRuns.of(n, [value * (1 + 0.001 * step) for step in (-1, 0, 1)]) for n, value in kink.items()]
    loud = [SizeRuns.of(n, [value * (1 + 0.08 * step) for step in (-1, 0, 1)]) for n, value in kink.items()]

    assert fit_amdahl(quiet).problem is FitProblem.NOT_AMDAHL
    assert fit_amdahl(loud).problem is None


def test_growth_beyond_ideal_and_shrinking_are_not_called_a_share() -> None:
    assert fit_amdahl(simulated(-0.02, 3, 1, cv=0.001)).problem is FitProblem.FASTER_THAN_IDEAL
    assert fit_amdahl(simulated(1.5, 3, 1, cv=0.001)).problem is FitProblem.SLOWER_WITH_NODES


def test_ideal_growth_has_no_limit_and_never_exceeds_ideal() -> None:
    fit = exactly(n1=100, n2=200, n4=400, n8=800)

    assert fit.serial
    assert fit.serial.low == 0
    ahead = fit.speed_up(16, 1)
    assert ahead
    assert ahead.high == pytest.approx(16)


def test_the_limit_is_what_endless_nodes_would_bring() -> None:
    fit = fit_amdahl(simulated(0.05, 3, 1, cv=1e-6))

    limit = fit.limit(1)
    assert limit
    assert limit.value == pytest.approx(20, rel=1e-3)
    assert limit.low <= limit.value <= (limit.high or 0)
