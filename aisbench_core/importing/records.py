"""From a found result to the record of a run: what the file tells, what a person says, and nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import zip_longest

from aisbench_core.authoring.workloads import Workload
from aisbench_core.errors import Problem, SpecError
from aisbench_core.history.found import FoundResult
from aisbench_core.importing.chosen import UNSAID, Choices, Said, Where
from aisbench_core.importing.exported import exported_record, is_whole
from aisbench_core.messages import Message, joined
from aisbench_core.model import (
    CollectedResult,
    Imported,
    Run,
    RunRecord,
    RunSpec,
    RunState,
    ServerResult,
    WorkloadFacts,
)

VALUES_LETTERS, JOB_LETTERS = 16, 6
MOST = {"node_count": 4096, "cards_per_node": 64}
"""The largest sizes that a spec can have."""

UPSTREAM_PREFIX = "train_"
USUAL_UNIT = "samples/s"
NAMELESS = "unknown"
"""What a workload is called that neither file nor person names."""


def check(choices: Choices) -> None:
    """Raises SpecError when what a person says cannot be so."""
    problems = [
        Problem(name, Message("must be 1 to {most}", most=most), str(getattr(said, name)))
        for said in (choices.about_all, *choices.about.values())
        for name, most in MOST.items()
        if not _is_size(getattr(said, name), most)
    ]
    if problems:
        raise SpecError(Message("what you say about the results"), problems)


def start_of_id(found: FoundResult) -> str:
    """How the id of a result's run begins: the same for equal values."""
    return f"i-{found.values_identity[:VALUES_LETTERS]}"


def run_id_of(found: FoundResult) -> str:
    """The id of a result's run: the same for the same result, however often and from wherever it is read."""
    return start_of_id(found) + (f"-{found.identity[:JOB_LETTERS]}" if found.job_id else "")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The workloads that results may be of, and the regions that are rehearsals here."""

    workloads: Sequence[Workload]
    rehearsed: frozenset[str] = frozenset()

    def of(self, said: Said) -> Workload | None:
        """The workload of that name, or else the only one of that model in that framework."""
        name = said.workload.removeprefix(UPSTREAM_PREFIX)
        for workload in self.workloads:
            if name and workload.name == name:
                return workload
        same = [workload for workload in self.workloads if not name and _alike(workload, said)]
        return same[0] if len(same) == 1 else None


def record_of(found: FoundResult, choices: Choices, catalogue: Catalogue, who: str, now: datetime) -> RunRecord:
    """The record. A person's answers were checked before (`check`); what a file says and cannot be is left out."""
    exported = exported_record(found, choices, catalogue.rehearsed, now) if is_whole(found, choices) else None
    if exported:
        return exported
    said = _answers(found, choices)
    workload = catalogue.of(said)
    version = _version(said.framework_version, workload)
    spec, stated = _spec(found, said, workload, version)
    where = Where(UNSAID, True) if found.rehearsal else choices.where
    run = _run(found, spec, where, who, now)
    result = CollectedResult(
        found.ranks_expected or (spec.card_count if found.rank_results or _sized(stated) else 0),
        found.rank_results,
        found.info,
        found.raw,
        found.synthetic_data,
        problems=(*found.problems, *_impossible(found)),
        server_results=tuple(_servers(found)),
    )
    return RunRecord(
        run=run,
        workload=_facts(found, said, workload, version),
        region=where.region,
        rehearsal=where.rehearsal,
        accelerator=found.accelerator,
        result=result,
        samples=found.samples,
        imported=Imported(found.place, now, stated, _note(found), _told(found)),
    )


def _servers(found: FoundResult) -> Iterator[ServerResult]:
    """Each server that trained alone, as far as the file tells of them one by one."""
    for server, (throughput, accuracy) in enumerate(zip_longest(found.server_throughputs, found.server_accuracies)):
        yield ServerResult(server, throughput, accuracy)


def _answers(found: FoundResult, choices: Choices) -> Said:
    """The file's answers, over them a person's about all results, over them those about this one."""
    told = Said(
        workload=found.workload,
        model=found.model,
        framework=found.framework,
        framework_version=found.framework_version,
        mode=found.mode,
        node_count=_size(found, "node_count"),
        cards_per_node=_size(found, "cards_per_node"),
    )
    for said in (choices.about_all, choices.about.get(found.identity, Said())):
        if said.model and not said.workload:  # a model of a person's own is another workload than the file's
            told = replace(told, workload="", framework="" if said.framework else told.framework)
        if said.workload and not said.model:
            told = replace(told, model="", framework="")
        told = replace(told, **{field.name: value for field in fields(Said) if (value := getattr(said, field.name))})
    return told


def _size(found: FoundResult, name: str) -> int | None:
    value: int | None = getattr(found, name)
    return value if _is_size(value, MOST[name]) else None


def _is_size(value: int | None, most: int) -> bool:
    return value is None or 1 <= value <= most


def _impossible(found: FoundResult) -> list[str]:
    """Sizes that no job has."""
    return [
        Message("{name} is {found}; allowed: 1 to {most}", name=name, found=getattr(found, name), most=most)
        for name, most in MOST.items()
        if not _is_size(getattr(found, name), most)
    ]


def _alike(workload: Workload, said: Said) -> bool:
    framework = said.framework.lower()
    return bool(said.model) and workload.model == said.model and framework in ("", workload.framework.lower())


def _version(version: str, workload: Workload | None) -> str:
    """As the workload writes it: people and tables leave out the r of r1.3."""
    if workload and version not in workload.versions and f"r{version}" in workload.versions:
        return f"r{version}"
    return version


def _spec(found: FoundResult, said: Said, workload: Workload | None, version: str) -> tuple[RunSpec, tuple[str, ...]]:
    """What is known of the spec, and the names of those fields. Sizes that are not known are as the cards need them."""
    known: dict[str, object] = {
        "workload": workload.name if workload else said.workload or said.model or NAMELESS,
        "framework_version": version,
        "mode": said.mode,
        "node_count": said.node_count,
        "cards_per_node": said.cards_per_node,
        "flavor": found.flavor,
        "engine_version": found.engine_version,
    }
    given = {name: value for name, value in known.items() if value}
    cards = _cards(found, said)
    spec = RunSpec.model_validate({"cards_per_node": min(cards, MOST["cards_per_node"])} | given)
    return spec, tuple(given)


def _cards(found: FoundResult, said: Said) -> int:
    if said.cards_per_node or not found.rank_results:
        return 1
    return max(1, (found.ranks_expected or len(found.rank_results)) // (said.node_count or 1))


def _sized(stated: Sequence[str]) -> bool:
    return {"node_count", "cards_per_node"} <= {*stated}


def _run(found: FoundResult, spec: RunSpec, where: Where, who: str, now: datetime) -> Run:
    start = found.started_at or found.info.total_start_time
    end = found.ended_at or found.info.total_end_time
    measured = found.info.throughput_ratio is not None or bool(found.rank_results)
    begun = start or end or now
    return Run(
        run_id=run_id_of(found),
        spec=spec,
        profile=where.profile,
        state=RunState.COMPLETED if measured else RunState.FAILED,
        created_at=begun,
        created_by=found.created_by or who,
        updated_at=end or begun,
        next_step_at=begun,
        job_name=found.job_name,
        job_id=found.job_id,
        detail="" if measured else _why_nothing(found),
        ended_at=end,
    )


def _why_nothing(found: FoundResult) -> Message:
    return joined("; ", found.problems) if found.problems else Message("no throughput was found")


def _facts(found: FoundResult, said: Said, workload: Workload | None, version: str) -> WorkloadFacts:
    """What the workload says of such a run; without one, what file and person say. The parameters are never known."""
    known = workload.edition(version) if workload and version in workload.versions else None
    facts = WorkloadFacts(
        title=said.model or said.workload or NAMELESS,
        model=said.model or said.workload or NAMELESS,
        framework=said.framework,
        throughput_definition=said.throughput_definition or (known.throughput_definition if known else ""),
        throughput_unit=USUAL_UNIT,
        dataset=found.dataset,
        accuracy_target=None,
        accuracy_target_source="",
        speed_parameters=None,
    )
    if workload is None:
        return facts
    return replace(
        facts,
        title=workload.title,
        model=workload.model,
        framework=workload.framework,
        throughput_unit=workload.throughput_unit,
        dataset=found.dataset or workload.dataset.name,
        accuracy_target=workload.target.value if workload.target else None,
        accuracy_target_source=workload.target.source if workload.target else "",
    )


def _told(found: FoundResult) -> tuple[str, ...]:
    """What is kept as text: it says something to a person, and nothing is computed from it."""
    texts = {"workpath": found.workpath, "ConfigInfo": found.config_info, "run there": found.run_id}
    return tuple(f"{name}: {text}" for name, text in texts.items() if text)


def _note(found: FoundResult) -> str:
    placeholders = f"placeholders, not measured: {', '.join(found.placeholders)}" if found.placeholders else ""
    return "; ".join(part for part in (found.note, placeholders) if part)
