"""Builds the record of a run from a result and the user's answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import zip_longest

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.domain.results.progress import SECONDS
from aisbench_core.exchange.importing.choices import (
    UNKNOWN_REGION,
    Choices,
    ImportAnswers,
    Provenance,
)
from aisbench_core.exchange.importing.exported import exported_record
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import (
    CollectedResult,
    Event,
    Imported,
    Level,
    Run,
    RunRecord,
    RunSpec,
    RunState,
    ServerResult,
    WorkloadFacts,
)

VALUES_LETTERS, JOB_LETTERS = 16, 6
MOST = {"node_count": 4096, "cards_per_node": 64}  # limits of a spec

UPSTREAM_PREFIX = "train_"
USUAL_UNIT = "samples/s"
NAMELESS = "unknown"  # the workload of a result without one

NO_UNIT = Message(
    "the unit of the throughput is not stated, so it is left out: state it for all results (--unit, or Throughput unit "
    "on the page)"
)
NO_CARDS = Message(
    "the throughput is of one card, and the number of cards is not known, so it is left out: state nodes and cards "
    "(--nodes and --cards, or on the page)"
)
TIMES_CARDS = Message("throughputs of one card were multiplied by the number of cards")


def check(choices: Choices) -> None:
    """Raise SpecError for impossible answers."""
    problems = [
        Problem(name, Message("must be 1 to {most}", most=most), str(getattr(answers, name)))
        for answers in (choices.about_all, *choices.about.values())
        for name, most in MOST.items()
        if not _is_size(getattr(answers, name), most)
    ]
    if problems:
        raise SpecError(Message("answers about the results"), problems)


def id_prefix(result: ParsedResult) -> str:
    """The prefix of the run id, which is the same for equal values."""
    return _to_prefix(result.values_identity)


def earlier_prefix(result: ParsedResult) -> str:
    """The prefix of the id that it had until its text identified it; empty: it never had another one."""
    return _to_prefix(result.earlier_identity) if result.earlier_identity else ""


def _to_prefix(identity: str) -> str:
    return f"i-{identity[:VALUES_LETTERS]}"


def run_id_of(result: ParsedResult) -> str:
    """The run id of a result, which is the same however often and from wherever it is read."""
    return id_prefix(result) + (f"-{result.identity[:JOB_LETTERS]}" if result.job_id else "")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The workloads to match results with, and the regions that are rehearsals here."""

    workloads: Sequence[Workload]
    rehearsed: frozenset[str] = frozenset()

    def find(self, answers: ImportAnswers) -> Workload | None:
        """The workload with this name, or else the only one with this model and framework."""
        name = answers.workload.removeprefix(UPSTREAM_PREFIX)
        if name:
            return next((workload for workload in self.workloads if workload.name == name), None)
        matches = [
            workload
            for workload in self.workloads
            if answers.model
            and workload.model == answers.model
            and answers.framework.lower() in ("", workload.framework.lower())
        ]
        return matches[0] if len(matches) == 1 else None


def record_of(result: ParsedResult, choices: Choices, catalogue: Catalogue, who: str, now: datetime) -> RunRecord:
    """The record of a result. `choices` were checked (`check`); impossible values of a file are left out."""
    if exported := exported_record(result, choices, catalogue.rehearsed, now):
        return exported
    result, _ = settle_throughput(result, choices, catalogue)
    answers = _merge_answers(result, choices)
    workload = catalogue.find(answers)
    version = answers.framework_version
    if workload and version not in workload.versions and f"r{version}" in workload.versions:
        version = f"r{version}"  # people and tables leave out the r of r1.3
    spec, stated = _build_spec(result, answers, workload, version)
    where = Provenance(UNKNOWN_REGION, True) if result.rehearsal else choices.where
    run = _build_run(result, spec, where, who, now)
    is_sized = {"node_count", "cards_per_node"} <= {*stated}
    servers = zip_longest(result.server_throughputs, result.server_accuracies)
    collected = CollectedResult(
        result.ranks_expected or (spec.card_count if result.rank_results or is_sized else 0),
        result.rank_results,
        result.info,
        result.raw,
        result.synthetic_data,
        problems=(*result.problems, *_find_impossible_sizes(result)),
        server_results=tuple(ServerResult(server, *values) for server, values in enumerate(servers)),
    )
    notes = (
        result.note,
        f"placeholders, not measured: {', '.join(result.placeholders)}" if result.placeholders else "",
    )
    # Texts to show with the run, from which nothing is computed.
    extra = {"workpath": result.workpath, "ConfigInfo": result.config_info, "run there": result.run_id}
    texts = tuple(f"{name}: {text}" for name, text in extra.items() if text)
    texts += (*result.remarks, *(f"left out: {cell.cell} ({cell.header}): {cell.text}" for cell in result.dropped))
    return RunRecord(
        run=run,
        workload=_build_facts(result, answers, workload, version),
        region=where.region,
        rehearsal=where.rehearsal,
        accelerator=result.accelerator,
        result=collected,
        samples=result.samples,
        events=tuple(_list_events(result, run)),
        described=result.described,
        metrics=result.metrics,
        imported=Imported(result.location, now, stated, "; ".join(filter(None, notes)), texts),
    )


def settle_throughput(
    result: ParsedResult, choices: Choices, catalogue: Catalogue
) -> tuple[ParsedResult, tuple[str, ...]]:
    """The result with the throughput of all cards, and the answers that would mend it.

    Without one, with the problem, if its unit or the number of cards is neither stated nor answered."""
    answers, value = _merge_answers(result, choices), result.info.throughput_ratio
    if value is None or not (result.is_row or result.is_per_card):
        return result, ()
    if not answers.unit and (result.unit_problem or catalogue.find(answers) is None):
        return _drop_throughput(result, result.unit_problem or NO_UNIT), ("unit",)
    if not result.is_per_card:
        return result, ()
    if answers.node_count and answers.cards_per_node:
        cards: int | None = answers.node_count * answers.cards_per_node
    else:
        cards = result.card_count
    if not cards:
        return _drop_throughput(result, NO_CARDS), ("node_count", "cards_per_node")
    info, remarks = replace(result.info, throughput_ratio=value * cards), (*result.remarks, TIMES_CARDS)
    return replace(result, info=info, remarks=remarks, is_per_card=False), ()


def _drop_throughput(result: ParsedResult, problem: Message) -> ParsedResult:
    info = replace(result.info, throughput_ratio=None)
    return replace(result, info=info, problems=(*result.problems, problem), unit_problem=None)


def _merge_answers(result: ParsedResult, choices: Choices) -> ImportAnswers:
    """The file's values, overridden by the answers about all results, and those by the answers about this one."""
    merged = ImportAnswers(
        workload=result.workload,
        model=result.model,
        framework=result.framework,
        framework_version=result.framework_version,
        unit=result.throughput_unit,
        mode=result.mode,
        node_count=_get_possible_size(result, "node_count"),
        cards_per_node=_get_possible_size(result, "cards_per_node"),
    )
    for answers in (choices.about_all, choices.about.get(result.identity, ImportAnswers())):
        if answers.model and not answers.workload:  # another model is another workload than the file's
            merged = replace(merged, workload="", framework="" if answers.framework else merged.framework)
        if answers.workload and not answers.model:
            merged = replace(merged, model="", framework="")
        changes = {field.name: value for field in fields(ImportAnswers) if (value := getattr(answers, field.name))}
        merged = replace(merged, **changes)
    return merged


def _get_possible_size(result: ParsedResult, name: str) -> int | None:
    value: int | None = getattr(result, name)
    return value if _is_size(value, MOST[name]) else None


def _is_size(value: int | None, most: int) -> bool:
    return value is None or 1 <= value <= most


def _find_impossible_sizes(result: ParsedResult) -> list[str]:
    """Problems about sizes that no job can have."""
    return [
        Message("{name} is {found}; allowed: 1 to {most}", name=name, found=getattr(result, name), most=most)
        for name, most in MOST.items()
        if not _is_size(getattr(result, name), most)
    ]


def _build_spec(
    result: ParsedResult, answers: ImportAnswers, workload: Workload | None, version: str
) -> tuple[RunSpec, tuple[str, ...]]:
    """The spec, and the names of its known fields. Unknown sizes are chosen so that they fit the ranks."""
    fields: dict[str, object] = {
        "workload": workload.name if workload else answers.workload or answers.model or NAMELESS,
        "framework_version": version,
        "mode": answers.mode,
        "node_count": answers.node_count,
        "cards_per_node": answers.cards_per_node,
        "flavor": result.flavor,
        "engine_version": result.engine_version,
        "parameters": _collect_parameters(result, answers, workload),
    }
    stated = {name: value for name, value in fields.items() if value}
    ranks = (result.ranks_expected or len(result.rank_results)) if result.rank_results else 1
    cards = max(1, ranks // (answers.node_count or 1))
    spec = RunSpec.model_validate({"cards_per_node": min(cards, MOST["cards_per_node"])} | stated)
    return spec, tuple(stated)


def _collect_parameters(result: ParsedResult, answers: ImportAnswers, workload: Workload | None) -> dict[str, object]:
    """The columns that are parameters, and of a row what no other field keeps apart."""
    has_size = answers.node_count and answers.cards_per_node
    more = {
        "card_count": None if has_size else result.card_count,
        "framework": None if workload or not result.is_row else answers.framework,
    }
    return {**{name: value for name, value in more.items() if value}, **result.parameters}


def _build_run(result: ParsedResult, spec: RunSpec, where: Provenance, who: str, now: datetime) -> Run:
    start = result.started_at or result.info.total_start_time
    end = result.ended_at or result.info.total_end_time
    measured = result.info.throughput_ratio is not None or bool(result.rank_results) or result.target_s is not None
    created_at = start or end or now
    detail = join_parts("; ", result.problems) if result.problems else Message("it has no throughput")
    return Run(
        run_id=run_id_of(result),
        spec=spec,
        profile=where.profile,
        state=RunState.COMPLETED if measured else RunState.FAILED,
        created_at=created_at,
        created_by=result.created_by or who,
        updated_at=end or created_at,
        next_step_at=created_at,
        job_name=result.job_name,
        job_id=result.job_id,
        detail="" if measured else detail,
        ended_at=end,
    )


def _list_events(result: ParsedResult, run: Run) -> Iterator[Event]:
    if result.target_s is not None:
        values = {SECONDS: result.target_s}
        message = Message("reached its target {seconds_to_target:.4g} s after run_start", **values)
        yield Event(run.run_id, run.updated_at, "import", Level.INFO, message)


def _build_facts(
    result: ParsedResult, answers: ImportAnswers, workload: Workload | None, version: str
) -> WorkloadFacts:
    """The facts of the workload; without one, of file and user. Its own parameters are always unknown."""
    edition = workload.edition(version) if workload and version in workload.versions else None
    name = answers.model or answers.workload or NAMELESS
    target = workload.target if workload else None
    return WorkloadFacts(
        title=workload.title if workload else name,
        model=workload.model if workload else name,
        framework=workload.framework if workload else answers.framework,
        throughput_definition=answers.throughput_definition or (edition.throughput_definition if edition else ""),
        throughput_unit=_choose_unit(answers.unit, workload),
        dataset=result.dataset or (workload.dataset.name if workload else ""),
        accuracy_target=target.value if target else None,
        accuracy_target_source=target.source if target else "",
        speed_parameters=None,
    )


def _choose_unit(stated: str, workload: Workload | None) -> str:
    """The stated one; a sample is whatever the workload counts."""
    if workload and stated in ("", USUAL_UNIT):
        return workload.throughput_unit
    return stated or USUAL_UNIT
