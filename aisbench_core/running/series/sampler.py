"""The samplers of Optuna: which values the next trial of a search tries, as a function of the trials before it.

A study is built anew for each trial from what the ledger and the warehouse know, and forgotten after it. So nothing is
lost when a follower dies, and the same seed and the same results give the same values.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.model import ParameterSearch, Range, Sampler, Scalar
from aisbench_core.model.search import Values

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

# Trials whose values TPE draws at random before it has something to learn from: a third, within these limits.
FEWEST_STARTS, MOST_STARTS = 3, 10
# A set of values that was tried already is drawn again so often, and then so often at random.
DRAWS, RANDOM_DRAWS = 10, 90


@dataclass(frozen=True, slots=True)
class Trial:
    """Values that were tried. `objective` is None while the run is active, and when it ended without one."""

    values: Mapping[str, Scalar]
    has_ended: bool
    objective: float | None = None


def require_optuna() -> None:
    """Raises ConfigError when Optuna is not installed."""
    if find_spec("optuna") is None:
        raise ConfigError(
            Message("a search needs the package optuna, which is not installed here"),
            Message("pip install 'aisbench-console[search]', or list the values of a grid"),
        )


def suggest_values(
    search: ParameterSearch, space: Mapping[str, Values], number: int, trials: Sequence[Trial]
) -> dict[str, Scalar]:
    """The values of trial `number`, which no earlier one has had, as far as the space allows.

    `trials`: all that were launched before it. Raises ConfigError when Optuna is not installed."""
    require_optuna()
    import optuna  # takes 0.3 s, which only the follower of a search should pay

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions = {name: _make_distribution(values) for name, values in space.items()}
    directions = optuna.study.StudyDirection
    direction = directions.MAXIMIZE if search.objective.is_maximised else directions.MINIMIZE
    stored = [_to_frozen_trial(trial, distributions) for trial in trials]
    tried = [dict(trial.values) for trial in trials]
    chosen: dict[str, Scalar] = {}
    for draw in range(DRAWS + RANDOM_DRAWS):
        sampler = _make_sampler(
            search, search.sampler if draw < DRAWS else Sampler.RANDOM, f"{search.seed}/{number}/{draw}"
        )
        study = optuna.create_study(direction=direction, sampler=sampler)
        study.add_trials(stored)
        drawn = study.ask(distributions).params
        chosen = {name: _round_value(drawn[name], values) for name, values in space.items()}
        if chosen not in tried:
            break
    return chosen


def _make_sampler(search: ParameterSearch, kind: Sampler, seed_text: str) -> "BaseSampler":
    from optuna.samplers import RandomSampler, TPESampler

    seed = random.Random(seed_text).getrandbits(32)  # noqa: S311  # repeatable is what it must be
    if kind is Sampler.RANDOM:
        return RandomSampler(seed=seed)
    starts = min(MOST_STARTS, max(FEWEST_STARTS, search.trials // 3))
    return TPESampler(seed=seed, n_startup_trials=starts)


def _make_distribution(values: Values) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Range):
        return CategoricalDistribution(values)
    if values.integer:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(float(values.low), float(values.high), log=values.log)


def _to_frozen_trial(trial: Trial, distributions: "Mapping[str, BaseDistribution]") -> "FrozenTrial":
    """A trial without an objective is one to avoid: Optuna would forget a failed one, but ranks a pruned one last."""
    from optuna.trial import TrialState, create_trial

    state = TrialState.RUNNING if not trial.has_ended else TrialState.PRUNED
    state = state if trial.objective is None else TrialState.COMPLETE
    return create_trial(
        state=state, value=trial.objective, params=dict(trial.values), distributions=dict(distributions)
    )


def _round_value(value: Scalar, values: Values) -> Scalar:
    """Six digits of a float: more would be noise in titles and on command lines."""
    if not isinstance(values, Range) or values.integer:
        return value
    return min(max(float(f"{value:.6g}"), float(values.low)), float(values.high))
