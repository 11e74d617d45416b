"""A console that was used for a while: runs in every state, results of two regions, more than a page of them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from aisbench_core.running.job_watch import write_details
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.console import job_details, seeds
from tests.sandbox_process import SandboxProcess

LOG = "".join(f"rank 0: epoch {epoch}/90 loss 1.2345 {'a rather long line ' * 8}\n" for epoch in range(1, 91))


@contextmanager
def use_console(data_dir: Path, sandbox: SandboxProcess) -> Iterator[ConsoleProcess]:
    """The console over this empty folder, with a region that answers."""
    (data_dir / "sandbox").mkdir()
    shutil.copy(sandbox.data_dir / "profile.yaml", data_dir / "sandbox")
    _fill_folder(data_dir)
    with FileLock(data_dir / "follower.lock"):  # nobody follows: the runs stay as they are
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def _fill_folder(data_dir: Path) -> None:
    seeds.fill(data_dir)
    seeds.spend(data_dir)
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for run in seeds.many(50):
        ledger.add(run)
    logs = data_dir / "runs" / seeds.ACTIVE_RUN / "logs"
    logs.mkdir(parents=True)
    (logs / "worker-0.log").write_text(LOG, "utf-8")
    # A run with everything that the platform can say, and one whose job was interrupted.
    write_details(job_details.HUNG, RunFolder(data_dir / "runs" / seeds.RETRYING_RUN))
    write_details(job_details.INTERRUPTED, RunFolder(data_dir / "runs" / seeds.FAILED_RUN))
