"""The registry of workloads: every folder with a `workload.yaml` in it, shipped or the user's own."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aisbench_core.authoring.manifest import Manifest, Parameter
from aisbench_core.documents import parse, read_yaml
from aisbench_core.errors import AisbenchError, ConfigError, Problem
from aisbench_core.messages import Message
from aisbench_core.model import Channel, RunSpec, Scalar, WorkloadFacts

MANIFEST = "workload.yaml"
REPORTER = "aisbench_report.py"


@dataclass(frozen=True, slots=True)
class Edition:
    """A workload in one framework version, with everything that the version changes carried out."""

    version: str
    parameters: Mapping[str, Parameter]
    throughput_definition: str
    engine_name: str
    engine_version: str
    boot_file: str


class Workload(Manifest):
    """A manifest and the folder it was found in. `shipped_dir`: where the workloads of this console lie."""

    name: str
    folder: Path
    shipped_dir: Path

    @property
    def is_own(self) -> bool:
        """Whether it is the user's own, and not shipped."""
        return self.folder.parent != self.shipped_dir

    @property
    def ships_code(self) -> bool:
        """Whether the training code is in the folder; otherwise the person must bring it."""
        return self.code_dir.is_dir()

    @property
    def code_dir(self) -> Path:
        """Where the shipped code lies."""
        return self.folder / "code"

    @property
    def manifest_sha256(self) -> str:
        """SHA-256 (hex) over the manifest's text, which decides what a spec leaves open.

        Raises ConfigError when the manifest has gone."""
        file = self.folder / MANIFEST
        try:
            return hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise _unreadable(file, error) from error

    @property
    def reporter_file(self) -> Path | None:
        """The module to upload beside the boot file, if the manifest asks for it."""
        return self.shipped_dir / "_reporter" / REPORTER if self.reporter else None

    @property
    def default_version(self) -> str:
        """The last framework version of the manifest."""
        return list(self.versions)[-1]

    def edition(self, version: str = "") -> Edition:
        """The workload in one framework version (empty: the default). Raises ConfigError, naming the known ones."""
        version = version or self.default_version
        if version not in self.versions:
            raise ConfigError(
                Message(
                    "workload {workload} has no framework version {version!r}; known: {known}",
                    workload=self.name,
                    version=version,
                    known=", ".join(self.versions),
                )
            )
        own = self.versions[version]
        kept = {name: parameter for name, parameter in self.parameters.items() if name not in own.omits}
        return Edition(
            version=version,
            parameters=kept | own.parameters,
            throughput_definition=own.throughput_definition,
            engine_name=own.engine_name or self.engine_name,
            engine_version=own.engine_version,
            boot_file=own.boot_file or self.boot_file,
        )

    def filled(self, spec: RunSpec) -> RunSpec:
        """The spec with everything that it leaves open answered by the manifest.

        A custom image brings its own engine; its command brings its own boot file and code directory. Raises
        ConfigError for a framework version that is not known."""
        edition = self.edition(spec.framework_version)
        changes: dict[str, Any] = {
            "framework_version": edition.version,
            "parameters": _defaults(edition) | spec.parameters,
            "inputs": spec.inputs or self._input_channels(),
            "outputs": spec.outputs or (Channel(name=self.output),),
            "imported": False,  # it holds more than the file did
        }
        if not spec.command:
            changes["boot_file"] = spec.boot_file or edition.boot_file
            changes["code_dir"] = spec.code_dir or (str(self.code_dir) if self.ships_code else "")
        if not spec.image_url:
            changes["engine_name"] = spec.engine_name or edition.engine_name
            changes["engine_version"] = spec.engine_version or edition.engine_version
        return spec.model_copy(update=changes)

    def check_parameters(self, spec: RunSpec) -> list[Problem]:
        """One problem for each parameter that is unknown, of the wrong type, or not an allowed value.

        Raises ConfigError for a framework version that is not known."""
        parameters = self.edition(spec.framework_version).parameters
        unknown = Message("is not a known parameter; allowed: {known}", known=", ".join(parameters) or Message("none"))
        problems = []
        for name, value in spec.parameters.items():
            parameter = parameters.get(name)
            complaint = parameter.complaint(value) if parameter else unknown
            if complaint:
                problems.append(Problem(f"parameters.{name}", complaint, repr(value)[:80]))
        return problems

    def facts(self, spec: RunSpec) -> WorkloadFacts:
        """What a record of this run must remember, whatever becomes of the manifest."""
        edition = self.edition(spec.framework_version)
        values = _defaults(edition) | spec.parameters
        return WorkloadFacts(
            title=self.title,
            model=self.model,
            framework=self.framework,
            throughput_definition=edition.throughput_definition,
            throughput_unit=self.throughput_unit,
            dataset=self.dataset.name,
            accuracy_target=self.target.value if self.target else None,
            accuracy_target_source=self.target.source if self.target else "",
            speed_parameters={
                name: values[name] for name, parameter in edition.parameters.items() if parameter.decides_speed
            },
        )

    def _input_channels(self) -> tuple[Channel, ...]:
        return () if self.dataset.optional else (Channel(name=self.dataset.input),)


class Workloads:
    """The shipped workloads and the user's own. Files are read when asked for, and again when they have changed."""

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        self._folders = (folder,) if own in (None, folder) else (folder, own)
        self._joined: Mapping[Path, Workload] = {}
        self._read: dict[Path, tuple[int, Workload | AisbenchError]] = {}

    def names(self) -> list[str]:
        """Every workload that can be used."""
        return [workload.name for workload in self.all()]

    def all(self) -> list[Workload]:
        """Every workload that can be used, by name."""
        return [found for found in self._look().values() if isinstance(found, Workload)]

    def get(self, name: str) -> Workload:
        """One workload. Raises ConfigError if there is none of that name, and what is wrong with it if it is broken."""
        look = self._look()
        found = next((each for folder in self._folders if (each := look.get(folder / name / MANIFEST))), None)
        if isinstance(found, Workload):
            return found
        if found is not None:
            raise found
        known = ", ".join(self.names()) or Message("none")
        raise ConfigError(
            Message("there is no workload named {name!r}; known workloads: {known}", name=name, known=known)
        )

    def joined_by(self, workload: Workload) -> "Workloads":
        """The same with one more, which is in no folder yet."""
        joined = Workloads(*self._folders)
        joined._joined = {workload.folder / MANIFEST: workload}
        return joined

    def problems(self) -> list[tuple[Path, AisbenchError]]:
        """Each manifest that cannot be used, and why."""
        return [(file, found) for file, found in self._look().items() if isinstance(found, AisbenchError)]

    def _look(self) -> dict[Path, Workload | AisbenchError]:
        files = sorted((file for folder in self._folders for file in _manifests(folder)), key=_name)
        self._read = {file: self._fresh(file) for file in files}
        found = {file: each for file, (_, each) in self._read.items()}
        shown = {file: _hidden(file) if self._is_hidden(file, files) else each for file, each in found.items()}
        return {**shown, **self._joined}

    def _is_hidden(self, file: Path, files: Collection[Path]) -> bool:
        """Whether a shipped workload has the name of this one."""
        shipped = self._folders[0] / _name(file) / MANIFEST
        return file != shipped and shipped in files

    def _fresh(self, file: Path) -> tuple[int, Workload | AisbenchError]:
        try:
            changed = file.stat().st_mtime_ns
        except OSError as error:  # gone since the folders were listed
            return 0, _unreadable(file, error)
        known = self._read.get(file)
        return known if known and known[0] == changed else (changed, _read_workload(file, self._folders[0]))


def _unreadable(file: Path, error: OSError) -> ConfigError:
    return ConfigError(
        Message("{file} cannot be read: {why}", file=file, why=error.strerror),
        Message("put the file back, or choose another workload"),
    )


def _manifests(folder: Path) -> list[Path]:
    return [file for file in folder.glob(f"*/{MANIFEST}") if file.parent.name[0] not in "._"]


def _name(file: Path) -> str:
    return file.parent.name


def _hidden(file: Path) -> ConfigError:
    name = _name(file)
    return ConfigError(
        Message("a workload named {name!r} is shipped, and it is the one that is used", name=name),
        Message("rename the directory {folder}", folder=file.parent),
    )


def _read_workload(file: Path, shipped_dir: Path) -> Workload | AisbenchError:
    try:
        answers = read_yaml(file)
        parse(Manifest, answers, Message("workload {name} ({file})", name=file.parent.name, file=MANIFEST))
    except AisbenchError as error:
        return error
    return Workload.model_validate(
        {**answers, "name": file.parent.name, "folder": file.parent, "shipped_dir": shipped_dir}
    )


def _defaults(edition: Edition) -> dict[str, Scalar]:
    return {name: parameter.default for name, parameter in edition.parameters.items()}
