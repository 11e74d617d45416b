"""The code of a launch on a machine that the follower may not share: sent at the launch, with its list of files in the
run's folder.

Code of the included workloads is on every machine, and is sent by the follower as ever."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import ConfigError, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import Connect
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Run
from aisbench_core.running.code import CodeManifest, files_beside, read_code, upload_code
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.run_paths import RunFolder

_MANIFEST = TypeAdapter(CodeManifest)


@dataclass(frozen=True, slots=True)
class LaunchedCode:
    """Sends the code of new runs where run folders are published. Threads may share it."""

    settings: Settings
    folders: RunFolders
    workloads: Workloads
    connect: Connect

    def send(self, run: Run) -> None:
        """Send the code of a run that is being launched, unless every machine has it.

        Equal code is sent once. Raises ConfigError if it is not on this machine, and CloudError."""
        if not self.folders.are_published or not run.spec.code_dir or self._is_included(run):
            return
        folder, cloud = self.folders.path(run.run_id), self.connect(run.profile, run.spec.api)
        try:
            workload = self.workloads.get(run.spec.workload)
            beside = files_beside(run.spec, folder.pre_start, workload.passport_files)
            code = read_code(run.spec, workload, beside, self.settings.shared_code)
        except ConfigError as error:
            hint = Message("launch it where the code is, or copy the code to the same path on every machine")
            raise ConfigError(error.message, hint) from error
        directory = run_paths.code_path(run.spec, code.sha256, cloud.profile)
        upload_code(cloud.objects, code, directory, run_paths.shared_path(cloud.profile), lambda *_: None)
        write_whole(folder.code, _MANIFEST.dump_json(code))

    def _is_included(self, run: Run) -> bool:
        code = Path(run.spec.code_dir).expanduser().resolve()
        return code.is_relative_to(self.settings.workloads_dir.resolve())


def sent_code(folder: RunFolder) -> CodeManifest | None:
    """The files of the code that was sent at the launch; None if the follower sends it. Raises ResultError."""
    try:
        return _MANIFEST.validate_json(folder.code.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        file = f"{folder.path.name}/{folder.code.name}"
        raise ResultError(Message("{file} cannot be read", file=file)) from error
