"""The registry of workloads: every folder with a `workload.yaml`, shipped or the user's own."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.errors import AisbenchError, ConfigError, Problem
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.manifest import Manifest, Parameter
from aisbench_core.domain.results.log_results import RESULT_FROM
from aisbench_core.model import Channel, RunSpec, Scalar, WorkloadFacts

MANIFEST = "workload.yaml"
MOST_MAIN = 4  # parameters of a form that are never folded
REPORTER = tuple(f"aisbench_{name}.py" for name in ("report", "cards", "events", "lines", "masking", "passport"))
"""The reporter's modules."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A workload in one framework version, with that version's overrides applied."""

    version: str
    parameters: Mapping[str, Parameter]
    throughput_definition: str
    engine_name: str
    engine_version: str
    boot_file: str

    @property
    def main_parameters(self) -> tuple[str, ...]:
        """The few that are set most: of those that decide speed numbers, then choices; otherwise the first of all."""
        decisive = {name: each for name, each in self.parameters.items() if each.decides_speed}
        numbers = [name for name, each in decisive.items() if each.number_range]
        most = [*numbers, *(name for name, each in decisive.items() if each.choices)][:MOST_MAIN]
        return tuple(name for name in self.parameters if name in most) or tuple(self.parameters)[:MOST_MAIN]


class Workload(Manifest):
    """A manifest and its folder. `shipped_dir`: the folder of the console's own workloads."""

    name: str
    folder: Path
    shipped_dir: Path

    @property
    def is_own(self) -> bool:
        """Whether it is the user's own."""
        return self.folder.parent != self.shipped_dir

    @property
    def ships_code(self) -> bool:
        """Whether the folder contains the training code; otherwise the spec must give code_dir."""
        return self.code_dir.is_dir()

    @property
    def code_dir(self) -> Path:
        """The directory of shipped code."""
        return self.folder / "code"

    @property
    def manifest_sha256(self) -> str:
        """SHA-256 (hex) of the manifest's text, which holds a spec's defaults.

        Raises ConfigError if the manifest is gone."""
        file = self.folder / MANIFEST
        try:
            return hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise _make_read_error(file, error) from error

    @property
    def reporter_files(self) -> tuple[Path, ...]:
        """The reporter's modules to upload beside the boot file, if the manifest says so."""
        return tuple(self.shipped_dir / "_reporter" / name for name in REPORTER if self.reporter)

    @property
    def passport_files(self) -> tuple[Path, ...]:
        """What captures the nodes of a job whose code has no reporter to do so."""
        names = () if self.reporter else ("aisbench_masking.py", "aisbench_passport.py")
        return tuple(self.shipped_dir / "_reporter" / name for name in names)

    @property
    def default_version(self) -> str:
        """The last framework version of the manifest."""
        return list(self.versions)[-1]

    def edition(self, version: str = "") -> Edition:
        """The workload in one framework version (empty: the default). Raises ConfigError for an unknown version."""
        version = version or self.default_version
        if version not in self.versions:
            message = Message(
                "workload {workload} has no framework version {version!r}; known: {known}",
                workload=self.name,
                version=version,
                known=", ".join(self.versions),
            )
            raise ConfigError(message)
        own = self.versions[version]
        shared = {name: parameter for name, parameter in self.parameters.items() if name not in own.omits}
        return Edition(
            version=version,
            parameters=shared | own.parameters,
            throughput_definition=own.throughput_definition,
            engine_name=own.engine_name or self.engine_name,
            engine_version=own.engine_version,
            boot_file=own.boot_file or self.boot_file,
        )

    def fill_spec(self, spec: RunSpec) -> RunSpec:
        """The spec with the manifest's defaults filled in.

        A custom image needs no engine, its command no boot file and no code directory, an algorithm none of them.
        Raises ConfigError for an unknown framework version."""
        edition = self.edition(spec.framework_version)
        changes: dict[str, Any] = {
            "framework_version": edition.version,
            "parameters": _get_defaults(edition) | spec.parameters,
            "inputs": spec.inputs or (() if self.dataset.optional else (Channel(name=self.dataset.input),)),
            "outputs": spec.outputs or (Channel(name=self.output),),
            "imported": False,  # from now on it is more than the imported file
        }
        if not (spec.command or spec.uses_algorithm):
            changes["boot_file"] = spec.boot_file or edition.boot_file
            changes["code_dir"] = spec.code_dir or (str(self.code_dir) if self.ships_code else "")
        if not (spec.image_url or spec.uses_algorithm):
            changes["engine_name"] = spec.engine_name or edition.engine_name
            changes["engine_version"] = spec.engine_version or edition.engine_version
        return spec.model_copy(update=changes)

    def check_parameters(self, spec: RunSpec) -> list[Problem]:
        """One problem per parameter that is unknown, of the wrong type or out of range.

        Raises ConfigError for an unknown framework version."""
        parameters = self.edition(spec.framework_version).parameters
        unknown = Message("is not a known parameter; allowed: {known}", known=", ".join(parameters) or Message("none"))
        problems = []
        for name, value in spec.parameters.items():
            parameter = parameters.get(name)
            problem = parameter.problem(value) if parameter else unknown
            if problem:
                problems.append(Problem(f"parameters.{name}", problem, repr(value)[:80]))
        return problems

    def facts(self, spec: RunSpec) -> WorkloadFacts:
        """The manifest's facts to store with a run, in case the manifest changes."""
        edition = self.edition(spec.framework_version)
        values = _get_defaults(edition) | spec.parameters
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
                **{name: values[name] for name, parameter in edition.parameters.items() if parameter.decides_speed},
                **(self.llm.resolve(values) if self.llm else {}),
                **({RESULT_FROM: str(self.log_window)} if self.log_window else {}),
            },
            primary_metric=self.primary_metric.value if self.primary_metric else None,
            loss_target=self.loss_target.value if self.loss_target else None,
        )


class Workloads:
    """The shipped workloads and the user's own. Files are read when needed, and again after a change."""

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        self._folders = (folder,) if own in (None, folder) else (folder, own)
        self._joined: Mapping[Path, Workload] = {}
        self._read: dict[Path, tuple[int, Workload | AisbenchError]] = {}

    def names(self) -> list[str]:
        """The names of all usable workloads."""
        return [workload.name for workload in self.all()]

    def all(self) -> list[Workload]:
        """All usable workloads, sorted by name."""
        return [workload for workload in self._load_all().values() if isinstance(workload, Workload)]

    def get(self, name: str) -> Workload:
        """One workload. Raises ConfigError if there is none of that name, and its own error if it is broken."""
        loaded = self._load_all()
        workload = next(
            (loaded[path] for folder in self._folders if (path := folder / name / MANIFEST) in loaded), None
        )
        if isinstance(workload, Workload):
            return workload
        if workload is not None:
            raise workload
        names = ", ".join(self.names()) or Message("none")
        message = Message("there is no workload named {name!r}; known workloads: {known}", name=name, known=names)
        raise ConfigError(message)

    def fill_spec(self, spec: RunSpec) -> RunSpec:
        """The spec with everything that its workload's manifest decides. Raises ConfigError."""
        return self.get(spec.workload).fill_spec(spec)

    def joined_by(self, workload: Workload) -> "Workloads":
        """A registry with one more workload, whose folder does not exist yet."""
        joined = Workloads(*self._folders)  # a copy: the others must not see a workload that may never be saved
        joined._joined = {workload.folder / MANIFEST: workload}
        return joined

    def problems(self) -> list[tuple[Path, AisbenchError]]:
        """Each unusable manifest and its error."""
        return [(file, error) for file, error in self._load_all().items() if isinstance(error, AisbenchError)]

    def _load_all(self) -> dict[Path, Workload | AisbenchError]:
        files = sorted((file for folder in self._folders for file in _find_manifests(folder)), key=_get_name)
        self._read = {file: self._read_if_changed(file) for file in files}
        loaded: dict[Path, Workload | AisbenchError] = {}
        for file, (_, workload) in self._read.items():
            shipped = self._folders[0] / _get_name(file) / MANIFEST
            loaded[file] = _make_name_error(file) if file != shipped and shipped in files else workload
        return {**loaded, **self._joined}

    def _read_if_changed(self, file: Path) -> tuple[int, Workload | AisbenchError]:
        try:
            changed = file.stat().st_mtime_ns
        except OSError as error:  # deleted since the folders were listed
            return 0, _make_read_error(file, error)
        # Pages ask for the workloads several times per rerun, and parsing a manifest takes milliseconds.
        cached = self._read.get(file)
        return cached if cached and cached[0] == changed else (changed, _read_workload(file, self._folders[0]))


def _make_read_error(file: Path, error: OSError) -> ConfigError:
    message = Message("{file} cannot be read: {why}", file=file, why=error.strerror)
    return ConfigError(message, Message("restore the file, or choose another workload"))


def _find_manifests(folder: Path) -> list[Path]:
    # `.import-…` are packages that are being imported, `_reporter` is no workload.
    return [file for file in folder.glob(f"*/{MANIFEST}") if file.parent.name[0] not in "._"]


def _get_name(file: Path) -> str:
    return file.parent.name


def _make_name_error(file: Path) -> ConfigError:
    name = _get_name(file)
    message = Message("a workload named {name!r} is shipped and takes precedence", name=name)
    return ConfigError(message, Message("rename the directory {folder}", folder=file.parent))


def _read_workload(file: Path, shipped_dir: Path) -> Workload | AisbenchError:
    try:
        answers = read_yaml(file)
        parse_document(Manifest, answers, Message("workload {name} ({file})", name=file.parent.name, file=MANIFEST))
    except AisbenchError as error:
        return error
    return Workload.model_validate(
        {**answers, "name": file.parent.name, "folder": file.parent, "shipped_dir": shipped_dir}
    )


def _get_defaults(edition: Edition) -> dict[str, Scalar]:
    return {name: parameter.default for name, parameter in edition.parameters.items()}
