"""Preflight rules about custom images: their names, start commands and conda environments."""

import re
import shlex
from collections.abc import Iterator

from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.model import AccessMethod, Level, RunSpec, image_name

# What names of images call an architecture; a registry knows it, but ModelArts looks at it only when the job starts.
_ARCHITECTURES = {
    **dict.fromkeys(("aarch64", "arm64"), "aarch64"),
    **dict.fromkeys(("x86_64", "x86-64", "x86", "amd64"), "x86_64"),
}
_ARCHITECTURE = re.compile(rf"(?<![a-z0-9])({'|'.join(_ARCHITECTURES)})(?![a-z0-9])")

# Without these, conda's own function `activate` is unknown to the shell that runs the command.
_ACTIVATE = re.compile(r"\b(conda|source) +activate\b")
_SET_UP = re.compile(r"conda\.sh|shell\.bash +hook|bash +-[a-z]*[il]")

# They end with an error when arguments of a training follow.
_WITHOUT_OPTIONS = {"sleep", "tail", "tee", "wait", "exit"}
_TAKES_THEM = "; :"  # the shell's own program that does nothing, whatever it is told


@rule("image.incomplete", Level.ERROR, "image_url", Source.API)
def image_incomplete(subject: Subject) -> Iterator[Violation]:
    """A custom image has a start command, or an engine that starts the boot file in it (ModelArts.2806)."""
    spec = subject.written  # without the defaults of manifest and profile
    if spec.image_url and not (spec.command or spec.engine_name):
        message = Message("a custom image needs a start command, but command is empty")
        engine = _find_engine(subject)
        if not engine:
            yield Violation(message, Message("set command"), "command")
            return
        hint = Message("set command, or engine_name: {engine} then starts the boot file in the image", engine=engine)
        yield Violation(message, hint, "command", (("engine_name", engine),))
    if spec.command and not spec.image_url:
        hint = Message("set image_url")
        yield Violation(Message("a start command needs a custom image, but image_url is empty"), hint)


@rule("image.architecture", Level.WARNING, "image_url", Source.GUIDE)
def image_architecture(subject: Subject) -> Iterator[Violation]:
    """A custom image whose name states an architecture has that of the flavor (aarch64 or x86_64)."""
    flavor, named = subject.flavor, _ARCHITECTURE.search(subject.spec.image_url.lower())
    architecture = _ARCHITECTURES[named[1]] if named else ""
    if flavor and flavor.architecture and architecture and flavor.architecture != architecture:
        message = Message(
            "by its name the image is for {image}, but {flavor} has {architecture} processors",
            image=architecture,
            flavor=flavor.flavor_id,
            architecture=flavor.architecture,
        )
        yield Violation(message, Message("choose an image for {architecture}", architecture=flavor.architecture))


@rule("image.boot-file", Level.ERROR, "boot_file", Source.API)
def image_boot_file(subject: Subject) -> Iterator[Violation]:
    """A custom image that a command starts has no boot file."""
    if subject.written.boot_file and subject.spec.has_own_start:
        yield Violation(
            Message(
                "both a boot file ({file!r}) and a custom image are given; allowed: one of them",
                file=subject.written.boot_file,
            ),
            Message("start the boot file in command, or leave image_url and command out"),
            fix=(("boot_file", ""),),
        )


@rule("image.command-lines", Level.ERROR, "command", Source.API)
def image_command_lines(subject: Subject) -> Iterator[Violation]:
    """The start command of a custom image is one line."""
    if "\n" in subject.spec.command or "\r" in subject.spec.command:
        message = Message("the start command has line breaks; allowed: one line")
        yield Violation(message, Message("join the commands with && or ;"))


@rule("image.name", Level.ERROR, "image_url", Source.GUIDE)
def image_name_form(subject: Subject) -> Iterator[Violation]:
    """A custom image is written organisation/name:tag, with or without the registry's address before it."""
    written = subject.spec.image_url
    if written and image_name(written) is None:
        message = Message("{image!r} is not the name of an image in SWR", image=written)
        yield Violation(message, Message("write organisation/name:tag, as SWR shows it"))


@rule("image.tag", Level.WARNING, "image_url", Source.CONSOLE)
def image_tag(subject: Subject) -> Iterator[Violation]:
    """A custom image names its version: without one, nobody knows later which it was."""
    image = image_name(subject.spec.image_url)
    if image and not image.version:
        yield Violation(Message("the image has no tag, so it may be another one tomorrow"), Message("add :tag"))


@rule("image.region", Level.WARNING, "image_url", Source.GUIDE)
def image_region(subject: Subject) -> Iterator[Violation]:
    """A custom image is in SWR of the profile's region, from which the guide lets jobs take theirs."""
    image, region = image_name(subject.spec.image_url), subject.profile.region
    if image and image.region and image.region != region:
        message = Message("the image is in {other}, but the job runs in {region}", other=image.region, region=region)
        yield Violation(message, Message("push it to SWR in {region}, too", region=region))


@rule("image.conda", Level.ERROR, "conda_env", Source.GUIDE)
def image_conda(subject: Subject) -> Iterator[Violation]:
    """A conda environment is an absolute directory in a custom image."""
    spec = subject.spec
    if not spec.conda_env:
        return
    if not spec.image_url:
        message = Message("a conda environment is in a custom image, but image_url is empty")
        yield Violation(message, Message("set image_url and command, or leave conda_env out"), fix=(("conda_env", ""),))
    elif not spec.command and spec.engine_name:
        message = Message(
            "{engine} starts the boot file, and nothing puts the environment on its path", engine=spec.engine_name
        )
        yield Violation(message, Message("set command instead of engine_name"), fix=(("conda_env", ""),))
    elif not spec.conda_env.startswith("/") or ".." in spec.conda_env.split("/") or not spec.conda_env.isprintable():
        message = Message("{path!r} is not an absolute path without ..", path=spec.conda_env)
        yield Violation(message, Message("for example /home/ma-user/anaconda3/envs/bench"))


@rule("image.conda-activate", Level.WARNING, "command", Source.GUIDE)
def image_conda_activate(subject: Subject) -> Iterator[Violation]:
    """The start command does not use `conda activate`: no shell has set conda up before it."""
    command = subject.spec.command
    if _ACTIVATE.search(command) and not _SET_UP.search(command):
        message = Message("conda activate fails in a job: its command runs without a login shell")
        yield Violation(message, Message("set conda_env to the environment's directory in the image instead"))


@rule("image.arguments", Level.WARNING, "command", Source.API)
def image_arguments(subject: Subject) -> Iterator[Violation]:
    """The start command ends with a program that accepts arguments: the platform appends those of the job."""
    spec = subject.spec
    command = spec.command.rstrip("; ")
    last = _find_last_program(command)
    if last in _WITHOUT_OPTIONS and _has_arguments(spec):
        message = Message("the job's arguments are appended to {program}, which then fails", program=last)
        hint = Message("end the command with ; : and write the training's arguments where it is started")
        yield Violation(message, hint, fix=(("command", command + _TAKES_THEM),))


def _find_last_program(command: str) -> str:
    """The name of the program that the command's last part starts; empty if there is none, or it cannot be told."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    last: list[str] = []
    try:
        for word in words:
            last = [] if set(word) <= set(";|&") else [*last, word]
    except ValueError:  # a quote that is not closed
        return ""
    return last[0].rpartition("/")[2] if last else ""


def _find_engine(subject: Subject) -> str:
    """The engine of the workload's manifest; empty if it has none."""
    workload, version = subject.workload, subject.spec.framework_version
    return workload.edition(version).engine_name if workload and version in workload.versions else ""


def _has_arguments(spec: RunSpec) -> bool:
    channels = (*spec.inputs, *spec.outputs)
    return bool(spec.parameters) or any(channel.access_method is AccessMethod.PARAMETER for channel in channels)
