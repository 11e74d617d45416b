"""Preflight rules about training a language model, by section `llm` of the workload's manifest."""

import math
from collections.abc import Iterator

from aisbench_core.base.messages import Message
from aisbench_core.domain.llm.llm_settings import FromParameter, LlmRun, read_llm
from aisbench_core.domain.llm.memory import estimate_memory
from aisbench_core.domain.preflight.rule import Fix, Source, Subject, Violation, rule
from aisbench_core.model import Level, Mode

GB = 1e9
_PARALLELISM = ("tensor_parallelism", "pipeline_parallelism", "context_parallelism")
_RECOVERY = "pytorch_llm_pretrain"  # its parameter `resume` ends the job's first attempt


@rule("llm.parallelism", Level.ERROR, "parameters", Source.MANIFEST)
def llm_parallelism(subject: Subject) -> Iterator[Violation]:
    """Tensor, pipeline and context parallelism divide heads, layers and sequence, and together the cards."""
    llm = _read_llm(subject)
    if llm is None:
        return
    tensor, pipeline, context = (_read_count(llm, name) for name in _PARALLELISM)
    shape = llm.shape
    for dividend, number, factors, divisor in (
        ("node_count × cards_per_node", _count_devices(subject), " × ".join(_PARALLELISM), tensor * pipeline * context),
        ("heads", shape.heads if shape else 0, "tensor_parallelism", tensor),
        ("layers", shape.layers if shape else 0, "pipeline_parallelism", pipeline),
        ("sequence_length", llm.sequence or 0, "context_parallelism", context),
    ):
        if number % divisor:
            yield Violation(_make_message(dividend, number, factors, divisor))


@rule("llm.batch", Level.ERROR, "parameters", Source.MANIFEST)
def llm_batch(subject: Subject) -> Iterator[Violation]:
    """The global batch is a multiple of the micro batch times the devices that get different samples."""
    llm = _read_llm(subject)
    if llm is None or "global_batch_size" not in llm.settings:
        return
    batch, micro_batch = _read_count(llm, "global_batch_size"), _read_count(llm, "micro_batch_size")
    replicas = _count_replicas(subject, llm)
    if batch % (micro_batch * replicas):
        message = _make_message(
            "global_batch_size", batch, f"micro_batch_size {micro_batch} × data parallelism {replicas}",
            micro_batch * replicas,
        )  # fmt: skip
        field = _find_parameter(subject, "micro_batch_size")
        fitting = math.gcd(batch // replicas, micro_batch) if batch % replicas == 0 else 0
        fix: Fix = ((field, fitting),) if field and fitting else ()
        yield Violation(message, Message("choose a divisor, or another number of cards"), field, fix)


@rule("llm.memory", Level.WARNING, "flavor", Source.CONSOLE)
def llm_memory(subject: Subject) -> Iterator[Violation]:
    """Weights, optimizer and activations fit into the memory of a card, if the region states it."""
    llm, flavor = _read_llm(subject), subject.flavor
    if llm is None or llm.shape is None or llm.sequence is None or flavor is None or flavor.card_gb is None:
        return
    tensor, pipeline, context = (_read_count(llm, name) for name in _PARALLELISM)
    # If nobody says that the weights are not distributed, only what cannot fit in any case is reported.
    shards = tensor * pipeline if _is_sharded(subject) is False else _count_devices(subject)
    tokens = _read_count(llm, "micro_batch_size") * llm.sequence
    need = estimate_memory(llm.shape, tokens, llm.recomputation, shards, tensor * pipeline * context)
    if need.total > flavor.card_gb * GB:
        message = Message(
            "about {total:.1f} GB are needed on each card (weights and optimizer {weights:.1f}, "
            "activations {activations:.1f}), and {flavor} has {memory:g} GB",
            total=need.total / GB,
            weights=need.weights / GB,
            activations=need.activations / GB,
            flavor=flavor.flavor_id,
            memory=flavor.card_gb,
        )
        hint = Message("use more cards, distribute the weights, recompute activations, or train a smaller model")
        yield Violation(message, hint)


@rule("llm.resume", Level.WARNING, "parameters.resume", Source.CONSOLE)
def llm_resume(subject: Subject) -> Iterator[Violation]:
    """A training that is to end and resume has a further attempt, which finds the checkpoint in its output."""
    spec = subject.spec
    if spec.workload != _RECOVERY or spec.parameters.get("resume") is not True or spec.resume_from:
        return
    if not (spec.retries and spec.retry_always and all(channel.prefetch for channel in spec.outputs)):
        message = Message("resume ends the job with an error, and no attempt follows that goes on from its checkpoint")
        hint = Message("set retries: 1, retry_always: true, and prefetch: true of the output")
        yield Violation(message, hint, fix=(("retries", max(1, spec.retries)), ("retry_always", True)))


def _read_llm(subject: Subject) -> LlmRun | None:
    workload, spec = subject.workload, subject.spec
    if workload is None or workload.llm is None or spec.framework_version not in workload.versions:
        return None
    return read_llm(workload.facts(spec).speed_parameters)


def _read_count(llm: LlmRun, name: str) -> int:
    """A setting; 1 if it is unknown, or no number."""
    value = llm.settings.get(name)
    return value if type(value) is int and value > 0 else 1


def _count_devices(subject: Subject) -> int:
    """How many train one model."""
    spec = subject.spec
    return spec.cards_per_node * (1 if spec.mode is Mode.SINGLE_SERVER else spec.node_count)


def _count_replicas(subject: Subject, llm: LlmRun) -> int:
    return max(1, _count_devices(subject) // math.prod(_read_count(llm, name) for name in _PARALLELISM))


def _is_sharded(subject: Subject) -> bool | None:
    setting = subject.workload.llm.is_sharded if subject.workload and subject.workload.llm else None
    value = setting.resolve(subject.spec.parameters) if isinstance(setting, FromParameter) else setting
    return value if isinstance(value, bool) else None


def _find_parameter(subject: Subject, name: str) -> str:
    """The field of the spec that decides a setting; empty if none does, or by what its values mean."""
    setting = getattr(subject.workload.llm, name) if subject.workload else None
    return f"parameters.{setting.parameter}" if isinstance(setting, FromParameter) and not setting.values else ""


def _make_message(dividend: str, number: int, factors: str, divisor: int) -> Message:
    return Message(
        "{dividend} = {number} is no multiple of {factors} = {divisor}",
        dividend=dividend,
        number=number,
        factors=factors,
        divisor=divisor,
    )
