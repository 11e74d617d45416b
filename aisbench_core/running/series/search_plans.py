"""Searches before their launch: what people write as a space, what the objective needs, and the rows of trials."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from aisbench_core.base.errors import AisbenchError, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import value_error
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.manifest import ParameterType
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.domain.costs import estimate_cost
from aisbench_core.model import Objective, ParameterSearch, Range, Scalar, SeriesPlan, SeriesRow
from aisbench_core.model.search import Values

WHAT = Message("the series")
EXAMPLE = Message("for example batch_size=16..256 log; optimizer=sgd,adam")
# Answers about how to search, which need a space to search in.
HOW = ("trials", "sampler", "objective", "seed", "early_stop")

# Names that no hyperparameter has, for what a search chooses beside them.
NODES, IMAGE = "node count", "image"


def search_answers(space: Mapping[str, Any], answers: dict[str, Any]) -> dict[str, Any] | None:
    """Take what is about the search out of the answers; None without a space. Raises SpecError."""
    given = {name: answers.pop(name, None) for name in HOW}
    how = {name: value for name, value in given.items() if value is not None and value is not False}
    if space:
        return {"space": space, **how}
    if how:
        problem = Problem("search", Message("is missing: name what to search"), ", ".join(how))
        raise SpecError(WHAT, [problem], EXAMPLE)
    return None


def range_of(text: str, name: str, kind: ParameterType | None) -> Range | None:
    """`16..256 log` as a Range; None for what is none. Raises SpecError.

    Without the word `int` it holds integers if both ends are written as such, unless the parameter is a float."""
    low, dots, rest = text.partition("..")
    if not dots or kind is ParameterType.STR:
        return None
    high, *words = rest.split() or [""]
    ends = [_parse_number(low.strip()), _parse_number(high)]
    if None in ends or not {*words} <= {"log", "int"}:
        raise _range_error(name, Message("must be LOW..HIGH, LOW..HIGH log or VALUE,VALUE"), text)
    integer = "int" in words or (kind is not ParameterType.FLOAT and all(isinstance(end, int) for end in ends))
    try:
        return Range.model_validate({"low": ends[0], "high": ends[1], "log": "log" in words, "integer": integer})
    except ValidationError as error:
        raise _range_error(name, value_error(error.errors()[0]), text) from None


def _range_error(name: str, message: Message, text: str) -> SpecError:
    return SpecError(WHAT, [Problem(f"search.{name}", message, repr(text))], EXAMPLE)


def _parse_number(text: str) -> int | float | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


def resolve_search(plan: SeriesPlan, profile: Profile, workloads: Workloads) -> SeriesPlan:
    """The plan of a search with its target and its price. Raises SpecError when it cannot be searched so."""
    search = plan.search
    if search is None:
        return plan
    try:
        workload: Workload | None = workloads.get(plan.spec.workload)
    except AisbenchError:  # preflight reports it
        workload = None
    priced = estimate_cost(plan.spec.model_copy(update={"node_count": 1}), profile, hours=1.0)
    problems = [*_shape_problems(plan, search), *_objective_problems(search, workload, priced)]
    if problems:
        raise SpecError(WHAT, problems)
    is_timed, is_priced = (search.objective is kind for kind in (Objective.TIME_TO_ACCURACY, Objective.COST))
    target = workload.target.value if is_timed and workload and workload.target else None
    facts = {
        "target": target,
        "price": priced if is_priced else None,
        "currency": profile.currency if is_priced else "",
    }
    return plan.model_copy(update={"search": search.model_copy(update=facts)})


def _shape_problems(plan: SeriesPlan, search: ParameterSearch) -> Iterator[Problem]:
    if plan.values:
        message = Message("a search takes lists of values beside its ranges, and no grid")
        yield Problem("values", message, ", ".join(plan.values))
    if plan.repeats != 1:
        yield Problem("repeats", Message("each trial of a search is one run"), str(plan.repeats))
    if len(plan.versions) > 1:
        yield Problem("versions", Message("a search has one framework version"), ", ".join(plan.versions))
    count = count_combinations(space_of(plan))
    if count is not None and count < search.trials:
        message = Message("only {count} combinations: ask for at most as many trials, or for a grid", count=count)
        yield Problem("trials", message, str(search.trials))


def _objective_problems(search: ParameterSearch, workload: Workload | None, priced: float | None) -> Iterator[Problem]:
    objective = search.objective
    if objective is Objective.COST and not priced:
        yield Problem(
            "objective",
            Message(
                "what a run costs is not known: the profile has no price_per_node_hour for the flavor, is a rehearsal,"
                " or runs in a pool that is paid for separately"
            ),
            objective,
        )
    if workload is None:
        return
    if objective is Objective.TIME_TO_ACCURACY and workload.target is None:
        yield Problem("objective", Message("the workload {name} has no target", name=workload.name), objective)
    is_live = objective is Objective.TIME_TO_ACCURACY or (search.early_stop and objective is Objective.THROUGHPUT)
    if is_live and not workload.progress:
        field, value = ("objective", objective) if objective is Objective.TIME_TO_ACCURACY else ("early_stop", "true")
        message = Message(
            "the workload {name} does not report its progress (see aisbench_report.progress)", name=workload.name
        )
        yield Problem(field, message, value)


def space_of(plan: SeriesPlan) -> dict[str, Values]:
    """All that the sampler chooses: hyperparameters and, if the plan names several, node counts and images."""
    space = dict(plan.search.space) if plan.search else {}
    if len(plan.node_counts) > 1:
        space[NODES] = tuple(sorted(plan.node_counts))
    if len(plan.images) > 1:
        space[IMAGE] = plan.images
    return space


def count_combinations(space: Mapping[str, Values]) -> int | None:
    """The number of different trials; None for infinitely many."""
    counts = []
    for values in space.values():
        if isinstance(values, Range) and not values.integer:
            return None
        counts.append(int(values.high) - int(values.low) + 1 if isinstance(values, Range) else len(values))
    return math.prod(counts)


def list_limits(space: Mapping[str, Values]) -> list[dict[str, Scalar]]:
    """Choices that have every end of every range and every listed value among them: what is checked before a launch."""
    ends = {
        name: [values.low, values.high] if isinstance(values, Range) else list(values) for name, values in space.items()
    }
    first = {name: values[0] for name, values in ends.items()}
    others = [{**first, name: value} for name, values in ends.items() for value in values[1:]]
    last = {name: values[-1] for name, values in ends.items()}
    return [first, *others, *([last] if last not in others else [])]


def trial_row(row: SeriesRow, choice: Mapping[str, Scalar]) -> SeriesRow:
    """The row of a trial with the values that the sampler chose for it."""
    values = dict(choice)
    nodes, image = int(values.pop(NODES, row.node_count)), str(values.pop(IMAGE, row.image))
    changes: dict[str, Any] = {"node_count": nodes, "parameters": {**row.spec.parameters, **values}}
    if IMAGE in choice:
        changes["image_url" if row.spec.image_url else "engine_version"] = image
    return replace(row, node_count=nodes, image=image, spec=row.spec.model_copy(update=changes), parameters=values)


def choice_of(row: SeriesRow, space: Mapping[str, Values]) -> dict[str, Scalar]:
    """What the sampler chose for a row: the opposite of `trial_row`."""
    beside: dict[str, Scalar] = {NODES: row.node_count, IMAGE: row.image}
    return {name: row.parameters[name] if name in row.parameters else beside[name] for name in space}
