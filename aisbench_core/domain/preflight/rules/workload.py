"""Preflight rules about the workload, its parameters and the data it needs."""

from collections.abc import Iterator

from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.manifest import DatasetLayout
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.model import Level, Scalar


@rule("workload.unknown", Level.ERROR, "workload", Source.MANIFEST)
def workload_unknown(subject: Subject) -> Iterator[Violation]:
    """The workload exists and its manifest can be read."""
    if subject.workload_error:
        yield Violation(subject.workload_error.message, subject.workload_error.hint)


@rule("workload.version", Level.ERROR, "framework_version", Source.MANIFEST)
def workload_version(subject: Subject) -> Iterator[Violation]:
    """The workload has the framework version."""
    version = subject.written.framework_version
    if subject.workload and version and version not in subject.workload.versions:
        message = Message(
            "{workload} has no framework version {version!r}; allowed: {known}",
            workload=subject.workload.name,
            version=version,
            known=", ".join(subject.workload.versions),
        )
        yield Violation(message)


@rule("parameters.value", Level.ERROR, "parameters", Source.MANIFEST)
def parameters_value(subject: Subject) -> Iterator[Violation]:
    """Each parameter exists in the workload, has the right type and an allowed value."""
    if subject.workload and subject.spec.framework_version in subject.workload.versions:
        parameters = subject.workload.edition(subject.spec.framework_version).parameters
        # `written`: the defaults of the manifest are valid by construction.
        for problem in subject.workload.check_parameters(subject.written):
            if problem.field == "parameters.enable_modelarts" and not _enables_modelarts(subject):
                continue  # has a rule of its own
            exists = problem.field.removeprefix("parameters.") in parameters
            yield Violation(
                Message("{problem} (found {found})", problem=problem.message, found=problem.value),
                "" if exists else Message("remove it: the code of this version does not accept it"),
                problem.field,
                () if exists else ((problem.field, None),),
            )


@rule("parameters.enable-modelarts", Level.ERROR, "parameters.enable_modelarts", Source.UPSTREAM)
def parameters_enable_modelarts(subject: Subject) -> Iterator[Violation]:
    """enable_modelarts is true: otherwise the training code does not read its data from OBS."""
    if not _enables_modelarts(subject):
        yield Violation(
            Message("must be true on ModelArts (found {found!r})", found=subject.spec.parameters["enable_modelarts"]),
            Message("set parameters.enable_modelarts: true"),
            fix=(("parameters.enable_modelarts", True),),
        )


@rule("parameters.train-steps-win", Level.WARNING, "parameters.epoch_size", Source.UPSTREAM)
def parameters_train_steps_win(subject: Subject) -> Iterator[Violation]:
    """epoch_size is not changed together with train_steps, which overrides it."""
    steps, epochs = (_to_number(subject.spec.parameters.get(name)) for name in ("train_steps", "epoch_size"))
    default = 0.0
    if subject.workload and subject.spec.framework_version in subject.workload.versions:
        parameter = subject.workload.edition(subject.spec.framework_version).parameters.get("epoch_size")
        default = _to_number(parameter.default) if parameter else 0.0
    if steps > 0 and epochs != default:
        message = Message(
            "epoch_size {epochs:g} has no effect: train_steps {steps:g} overrides it", epochs=epochs, steps=steps
        )
        yield Violation(message, Message("change train_steps instead"), fix=(("parameters.epoch_size", None),))


@rule("parameters.checkpoint-steps", Level.WARNING, "parameters.save_checkpoint_steps", Source.UPSTREAM)
def parameters_checkpoint_steps(subject: Subject) -> Iterator[Violation]:
    """save_checkpoint_steps equals train_steps: saving more often costs throughput."""
    return _must_equal(subject, "save_checkpoint_steps", "train_steps")


@rule("parameters.checkpoint-epochs", Level.WARNING, "parameters.save_checkpoint_epochs", Source.UPSTREAM)
def parameters_checkpoint_epochs(subject: Subject) -> Iterator[Violation]:
    """save_checkpoint_epochs equals epoch_size: saving more often costs throughput."""
    return _must_equal(subject, "save_checkpoint_epochs", "epoch_size")


@rule("inputs.required", Level.ERROR, "inputs", Source.MANIFEST)
def inputs_required(subject: Subject) -> Iterator[Violation]:
    """The workload's required input has a path."""
    if subject.workload and not subject.workload.dataset.optional:
        dataset = subject.workload.dataset
        if not any(channel.name == dataset.input and channel.path for channel in subject.spec.inputs):
            message = Message(
                "{workload} needs the data set {dataset} as input {input!r}, and no path is given",
                workload=subject.workload.name,
                dataset=dataset.name,
                input=dataset.input,
            )
            yield Violation(message, _directory_for(dataset), f"inputs.{dataset.input}")


@rule("inputs.synthetic", Level.INFO, "inputs", Source.MANIFEST)
def inputs_synthetic(subject: Subject) -> Iterator[Violation]:
    """A run without its optional data set uses generated data, and its result is marked as synthetic."""
    if subject.workload and subject.workload.dataset.synthetic_without:
        dataset = subject.workload.dataset
        if not any(channel.name == dataset.input and channel.path for channel in subject.spec.inputs):
            yield Violation(
                Message(
                    "no {dataset} is given: the run uses generated data and its result is marked as synthetic",
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


def _must_equal(subject: Subject, name: str, other: str) -> Iterator[Violation]:
    parameters = subject.spec.parameters
    if name in parameters and other in parameters and _to_number(parameters[name]) != _to_number(parameters[other]):
        yield Violation(
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


def _to_number(value: Scalar | None) -> float:
    try:
        return float(value or 0)
    except ValueError:  # parameters.value reports it
        return 0.0
