"""Preflight rules about the workload, its parameters and the data it needs."""

from collections.abc import Iterator

from aisbench_core.authoring.manifest import DatasetLayout
from aisbench_core.authoring.rules import Complaint, Source, Subject, rule
from aisbench_core.messages import Message, message_of
from aisbench_core.model import Level, Scalar


@rule("workload.unknown", Level.ERROR, "workload", Source.MANIFEST)
def workload_unknown(subject: Subject) -> Iterator[Complaint]:
    """The workload exists and its manifest can be read."""
    if subject.trouble:
        yield Complaint(message_of(subject.trouble.message), message_of(subject.trouble.hint))


@rule("workload.version", Level.ERROR, "framework_version", Source.MANIFEST)
def workload_version(subject: Subject) -> Iterator[Complaint]:
    """The framework version is one that the workload has."""
    version = subject.written.framework_version
    if subject.workload and version and version not in subject.workload.versions:
        known = ", ".join(subject.workload.versions)
        yield Complaint(
            Message(
                "{workload} has no framework version {version!r}; allowed: {known}",
                workload=subject.workload.name,
                version=version,
                known=known,
            )
        )


@rule("parameters.value", Level.ERROR, "parameters", Source.MANIFEST)
def parameters_value(subject: Subject) -> Iterator[Complaint]:
    """Each parameter is known to the workload, of the right type and an allowed value."""
    if subject.workload and subject.spec.framework_version in subject.workload.versions:
        known = subject.workload.edition(subject.spec.framework_version).parameters
        for problem in subject.workload.check_parameters(subject.written):
            if problem.field == "parameters.enable_modelarts" and not _enables_modelarts(subject):
                continue  # its own rule says it better
            is_known = problem.field.removeprefix("parameters.") in known
            yield Complaint(
                Message("{problem} (found {found})", problem=problem.message, found=problem.found),
                "" if is_known else Message("remove it: the code of this version does not take it"),
                problem.field,
                () if is_known else ((problem.field, None),),
            )


@rule("parameters.enable-modelarts", Level.ERROR, "parameters.enable_modelarts", Source.UPSTREAM)
def parameters_enable_modelarts(subject: Subject) -> Iterator[Complaint]:
    """enable_modelarts is true: without it the training code does not look for its data in the cloud."""
    if not _enables_modelarts(subject):
        found = subject.spec.parameters["enable_modelarts"]
        yield Complaint(
            Message("must be true on ModelArts (found {found!r})", found=found),
            Message("set parameters.enable_modelarts: true"),
            fix=(("parameters.enable_modelarts", True),),
        )


@rule("parameters.train-steps-win", Level.WARNING, "parameters.epoch_size", Source.UPSTREAM)
def parameters_train_steps_win(subject: Subject) -> Iterator[Complaint]:
    """train_steps wins over epoch_size, so a changed epoch_size has no effect beside it."""
    steps, epochs = (_number(subject.spec.parameters.get(name)) for name in ("train_steps", "epoch_size"))
    if steps > 0 and epochs != _default(subject, "epoch_size"):
        yield Complaint(
            Message(
                "epoch_size {epochs:g} has no effect: train_steps {steps:g} decides how long the training is",
                epochs=epochs,
                steps=steps,
            ),
            Message("change train_steps instead"),
            fix=(("parameters.epoch_size", None),),
        )


@rule("parameters.checkpoint-steps", Level.WARNING, "parameters.save_checkpoint_steps", Source.UPSTREAM)
def parameters_checkpoint_steps(subject: Subject) -> Iterator[Complaint]:
    """save_checkpoint_steps equals train_steps: saving more often costs throughput."""
    return _must_equal(subject, "save_checkpoint_steps", "train_steps")


@rule("parameters.checkpoint-epochs", Level.WARNING, "parameters.save_checkpoint_epochs", Source.UPSTREAM)
def parameters_checkpoint_epochs(subject: Subject) -> Iterator[Complaint]:
    """save_checkpoint_epochs equals epoch_size: saving more often costs throughput."""
    return _must_equal(subject, "save_checkpoint_epochs", "epoch_size")


@rule("inputs.required", Level.ERROR, "inputs", Source.MANIFEST)
def inputs_required(subject: Subject) -> Iterator[Complaint]:
    """The input that the workload cannot do without has a path."""
    if subject.workload and not subject.workload.dataset.optional:
        dataset = subject.workload.dataset
        if not any(channel.name == dataset.input and channel.path for channel in subject.spec.inputs):
            yield Complaint(
                Message(
                    "{workload} needs the data set {dataset} as input {input!r}, and no path is given",
                    workload=subject.workload.name,
                    dataset=dataset.name,
                    input=dataset.input,
                ),
                _directory_for(dataset),
                f"inputs.{dataset.input}",
            )


@rule("inputs.synthetic", Level.INFO, "inputs", Source.MANIFEST)
def inputs_synthetic(subject: Subject) -> Iterator[Complaint]:
    """A run without its optional data set makes data up, and its result is marked as synthetic."""
    if subject.workload and subject.workload.dataset.synthetic_without:
        dataset = subject.workload.dataset
        if not any(channel.name == dataset.input and channel.path for channel in subject.spec.inputs):
            yield Complaint(
                Message(
                    "no {dataset} is given: the run makes data up and its result is marked as synthetic",
                    dataset=dataset.name,
                ),
                Message("give input {input!r} a path to measure on real data", input=dataset.input),
                f"inputs.{dataset.input}",
            )


def _directory_for(dataset: DatasetLayout) -> Message:
    needed = ", ".join(dataset.required)
    return Message(
        "give an OBS directory such as /bucket/{folder}/{content}",
        folder=dataset.name.split()[0].lower(),
        content=Message(" with {entries} in it", entries=needed) if needed else "",
    )


def _enables_modelarts(subject: Subject) -> bool:
    return str(subject.spec.parameters.get("enable_modelarts", True)).lower() == "true"


def _must_equal(subject: Subject, name: str, other: str) -> Iterator[Complaint]:
    parameters = subject.spec.parameters
    if name in parameters and other in parameters and _number(parameters[name]) != _number(parameters[other]):
        yield Complaint(
            Message(
                "{name} is {value} and {other} is {other_value}: saving more often costs throughput",
                name=name,
                value=parameters[name],
                other=other,
                other_value=parameters[other],
            ),
            Message("set the parameter {name}: {other_value}", name=name, other_value=parameters[other]),
            fix=((f"parameters.{name}", parameters[other]),),
        )


def _default(subject: Subject, name: str) -> float:
    if not subject.workload or subject.spec.framework_version not in subject.workload.versions:
        return 0.0
    parameter = subject.workload.edition(subject.spec.framework_version).parameters.get(name)
    return _number(parameter.default) if parameter else 0.0


def _number(value: Scalar | None) -> float:
    try:
        return float(value or 0)
    except ValueError:  # another rule says that it is not a number
        return 0.0


RULES = (
    workload_unknown,
    workload_version,
    parameters_value,
    parameters_enable_modelarts,
    parameters_train_steps_win,
    parameters_checkpoint_steps,
    parameters_checkpoint_epochs,
    inputs_required,
    inputs_synthetic,
)
