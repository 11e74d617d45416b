"""Preflight rules about the job's container and its recovery: directories, pre-download, restarts, training mode."""

import posixpath
from collections.abc import Iterator

from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.domain.preflight.rules.resources import RETRIES_EVERYWHERE, find_accelerator
from aisbench_core.model import Level, TrainingMode

_HOME = "/home/ma-user"
_RESERVED = (f"{_HOME}/modelarts", f"{_HOME}/modelarts-dev", f"{_HOME}/infer")
_WITH_RETRIES = ("retry_always", "retry_on_hang", "environment_check")


@rule("container.code", Level.ERROR, "local_code_dir", Source.API)
def container_code(subject: Subject) -> Iterator[Violation]:
    """The code's directory in the container is below /home, outside the platform's own (ModelArts.2857)."""
    path = subject.spec.local_code_dir
    tidy = posixpath.normpath(path)
    is_reserved = tidy == _HOME or any(f"{tidy}/".startswith(f"{reserved}/") for reserved in _RESERVED)
    if path and (not _is_absolute(path) or not tidy.startswith("/home/") or is_reserved):
        message = Message("{path!r} cannot hold the code", path=path)
        reserved = ", ".join((_HOME, *_RESERVED))
        yield Violation(message, Message("give a directory below /home, but none of {reserved}", reserved=reserved))


@rule("container.working", Level.ERROR, "working_dir", Source.API)
def container_working(subject: Subject) -> Iterator[Violation]:
    """The working directory is an absolute path without `..` (ModelArts.2859)."""
    path = subject.spec.working_dir
    if path and not _is_absolute(path):
        message = Message("{path!r} is not an absolute path without ..", path=path)
        yield Violation(message, Message("for example /home/ma-user/work"))


@rule("channels.prefetch", Level.ERROR, "inputs", Source.GUIDE)
def channels_prefetch(subject: Subject) -> Iterator[Violation]:
    """Only outputs are downloaded on request: inputs always are."""
    for channel in subject.spec.inputs:
        if channel.prefetch:
            message = Message("the platform downloads every input before the job starts")
            yield Violation(message, Message("leave out prefetch"), f"inputs.{channel.name}")


@rule("channels.local", Level.ERROR, "inputs", Source.API)
def channels_local(subject: Subject) -> Iterator[Violation]:
    """Each input and output that chooses its directory in the container has an absolute one of its own."""
    spec = subject.spec
    used = {posixpath.normpath(volume.local_path) for volume in spec.volumes if volume.local_path}
    for kind, channels in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for channel in channels:
            tidy, field = posixpath.normpath(channel.local_dir), f"{kind}.{channel.name}.local_dir"
            if not channel.local_dir:
                continue
            if not _is_absolute(channel.local_dir) or tidy == "/":
                message = Message("{path!r} is not an absolute path without ..", path=channel.local_dir)
                yield Violation(message, Message("for example /home/ma-user/data"), field)
            elif tidy in used:
                message = Message("{path!r} is used twice", path=channel.local_dir)
                yield Violation(message, Message("give each input, output and volume a directory of its own"), field)
            used.add(tidy)


@rule("retries.needed", Level.ERROR, "retries", Source.GUIDE)
def retries_needed(subject: Subject) -> Iterator[Violation]:
    """Restarts after any failure or a hang, and the environment check, need at least one retry."""
    for field in _WITH_RETRIES:
        if getattr(subject.spec, field) and not subject.spec.retries:
            message = Message("{field} has no effect without retries", field=field)
            fix = (("retries", RETRIES_EVERYWHERE),)
            yield Violation(message, Message("set retries to 1 or more, or leave it out"), field, fix)


@rule("resume.run", Level.ERROR, "resume_from", Source.CONSOLE)
def resume_run(subject: Subject) -> Iterator[Violation]:
    """A run is resumed from an ended run of the same workload and profile, which had a job."""
    earlier, named = subject.earlier, subject.spec.resume_from
    if not named:
        return
    if earlier is None:
        message = Message("there is no run {run} here", run=named)
        yield Violation(message, Message("give the id of a run that this console has launched"))
    elif earlier.run_id != named:
        message = Message("{start!r} is only the start of a run's id", start=named)
        yield Violation(message, Message("give the whole id"), fix=(("resume_from", earlier.run_id),))
    elif earlier.spec.workload != subject.spec.workload:
        yield Violation(Message("run {run} is of the workload {workload}", run=named, workload=earlier.spec.workload))
    elif earlier.profile != subject.profile.name:
        message = Message("run {run} was launched with the profile {profile}", run=named, profile=earlier.profile)
        yield Violation(message, Message("choose this profile: outputs are not copied between regions"))
    elif not earlier.state.is_terminal:
        message = Message("run {run} has not ended", run=named)
        yield Violation(message, Message("wait for its end, or stop it"))
    elif not earlier.job_id:
        yield Violation(Message("run {run} had no job, so it has no outputs", run=named))


@rule("training-mode.engine", Level.ERROR, "training_mode", Source.GUIDE)
def training_mode_engine(subject: Subject) -> Iterator[Violation]:
    """A training mode other than general needs a preset MindSpore image on Ascend (ModelArts.2839)."""
    spec, kind = subject.spec, find_accelerator(subject)
    if spec.training_mode is TrainingMode.GENERAL:
        return
    fix = (("training_mode", str(TrainingMode.GENERAL)),)
    hint = Message("use the mode general, or a preset image of MindSpore on Ascend")
    if spec.image_url:
        yield Violation(Message("a custom image has no training mode"), hint, fix=fix)
    elif spec.engine_version and not spec.engine_version.startswith("mindspore"):
        yield Violation(Message("{engine} has no training mode", engine=spec.engine_version), hint, fix=fix)
    elif kind not in ("", "Ascend"):
        message = Message("{flavor} has {accelerator}, no Ascend cards", flavor=spec.flavor, accelerator=kind)
        yield Violation(message, hint, fix=fix)


@rule("training-mode.unproven", Level.INFO, "training_mode", Source.CONSOLE)
def training_mode_unproven(subject: Subject) -> Iterator[Violation]:
    """The API has no field for the training mode; it is passed in a variable of the platform's launcher."""
    if subject.spec.training_mode is not TrainingMode.GENERAL:
        names = ", ".join(name for name in subject.spec.platform_variables if name.startswith("MA_") and "MODE" in name)
        message = Message("the API has no field for the mode: it is passed as {variable}", variable=names)
        yield Violation(message, Message("look into the log whether the region follows it"))


@rule("variables.twice", Level.ERROR, "environments", Source.CONSOLE)
def variables_twice(subject: Subject) -> Iterator[Violation]:
    """A variable that a field of the spec sets is not set in environments, too."""
    for name in subject.spec.platform_variables:
        if name in subject.spec.environments:
            message = Message("{name} is also set by environment_check or training_mode", name=name)
            field = f"environments.{name}"
            yield Violation(message, Message("leave it out"), field, ((field, None),))


def _is_absolute(path: str) -> bool:
    return path.startswith("/") and ".." not in path.split("/") and path.isprintable()
