"""Whoever is no admin launches with code and packages of the open folders only."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError, NotAllowed, SpecError
from aisbench_core.cloud.ports import OnProgress
from aisbench_core.config.settings import HOME, Settings, load_settings
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Actor, Role, RunSpec, SeriesPlan, WayIn
from aisbench_core.running.code import read_code, upload_code
from aisbench_core.wiring import open_core
from tests.memory_store import MemoryStore

ENGINEER = Actor("bob", frozenset({Role.ENGINEER}), WayIn.CONSOLE)
ADMIN = Actor("ann", frozenset({Role.ADMIN}), WayIn.CONSOLE)


def spec(code_dir: Path | str = "", **update: str) -> RunSpec:
    return RunSpec.model_validate({"workload": "quickstart_digits", "code_dir": str(code_dir), "update": update})


def test_only_admins_name_files_outside_the_open_folders(tmp_path: Path) -> None:
    workloads, elsewhere = tmp_path / "workloads", tmp_path / "workloads-of-others"
    (workloads / "digits").mkdir(parents=True)
    elsewhere.mkdir()
    (workloads / "way-out").symlink_to(elsewhere)
    folders = [workloads]

    for open_to_all in (spec(), spec(workloads / "digits"), spec("", mindspore=str(workloads / "a.whl"))):
        require_open_files(open_to_all, ENGINEER, folders)
    for closed in (elsewhere, workloads / "digits" / ".." / ".." / "keys", workloads / "way-out", "/etc", "~"):
        with pytest.raises(NotAllowed, match="code_dir names files on the server"):
            require_open_files(spec(closed), ENGINEER, folders)
        require_open_files(spec(closed), ADMIN, folders)
    with pytest.raises(NotAllowed, match=r"update\.cann names files on the server"):
        require_open_files(spec("", cann="/etc/secret.run"), ENGINEER, folders)


def test_further_folders_are_open_by_their_own_names_only(tmp_path: Path) -> None:
    code, elsewhere = tmp_path / "code", tmp_path / "elsewhere"
    (code / "net").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "way-in").symlink_to(code / "net")
    (code / "way-out").symlink_to(elsewhere)
    (tmp_path / "mount").symlink_to(code)
    core = open_core(Settings(data_dir=tmp_path / "data", code_folders=f"{code}, {tmp_path / 'mount'}"))

    for path in (code, code / "net", code / "net" / ".." / "net", tmp_path / "mount" / "net"):
        require_open_files(spec(path), ENGINEER, core.runs.open_folders)
    # A link from elsewhere could lead elsewhere, once it was checked.
    for path in (code / "way-out", code / ".." / "elsewhere", elsewhere / "way-in", tmp_path / "code-of-others"):
        with pytest.raises(NotAllowed, match="code_dir names files on the server"):
            require_open_files(spec(path), ENGINEER, core.runs.open_folders)


def test_no_link_in_shared_code_leads_out_of_it_even_for_an_admin(tmp_path: Path) -> None:
    code, secret = tmp_path / "code", tmp_path / "secret"
    (code / "net").mkdir(parents=True)
    (code / "lib.py").write_text("one", "utf-8")
    (code / "net" / "train.py").symlink_to(code / "lib.py")
    secret.write_text("key", "utf-8")
    workload = Workloads(HOME / "workloads", tmp_path / "own").get("quickstart_digits")
    assert "train.py" in {file.name for file in read_code(spec(code / "net"), workload, {}, [code]).files}

    (code / "net" / "key.txt").symlink_to(secret)

    with pytest.raises(ConfigError, match=r"the code has a link that leads out of .*code: .*key\.txt"):
        read_code(spec(code / "net"), workload, {}, [code])
    with pytest.raises(ConfigError, match="leads out"):  # a package beside the code
        read_code(spec(code), workload, {"cann.run": code / "net" / "key.txt"}, [code])
    shutil.rmtree(code / "net")
    (code / "net").symlink_to(tmp_path)  # the folder itself, after the launch
    with pytest.raises(ConfigError, match="leads out"):
        read_code(spec(code / "net"), workload, {}, [code])


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Code that people may change, beside a secret of the server."""
    code = tmp_path / "code"
    (code / "net").mkdir(parents=True)
    (code / "net" / "train.py").write_text("print()", "utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "train.py").write_text("secret", "utf-8")
    return code


def swap_file(code: Path) -> None:
    (code / "net" / "train.py").unlink()
    (code / "net" / "train.py").symlink_to(code.parent / "elsewhere" / "train.py")


def swap_folder(code: Path) -> None:
    (code / "net").rename(code / "before")
    (code / "net").symlink_to(code.parent / "elsewhere")


def swap_for_pipe(code: Path) -> None:
    (code / "net" / "train.py").unlink()
    os.mkfifo(code / "net" / "train.py")


SWAPS = (swap_file, swap_folder, swap_for_pipe)
WORKLOAD = Workloads(HOME / "workloads").get("quickstart_digits")


@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_swapped_in_after_the_check_is_not_read(
    shared: Path, swap: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def swap_first(path: str | Path, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if Path(path) == shared:  # the path was checked, and the file is opened from here on
            monkeypatch.undo()
            swap(shared)
        return opened(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_first)

    with pytest.raises(ConfigError, match=r"changed while it was read: .*train\.py is no file any more"):
        read_code(spec(shared / "net"), WORKLOAD, {}, [shared])


@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_swapped_in_after_the_code_was_read_is_not_sent(shared: Path, swap: Callable[[Path], None]) -> None:
    code, store = read_code(spec(shared / "net"), WORKLOAD, {}, [shared]), MemoryStore({})

    swap(shared)

    with pytest.raises(ConfigError, match=r"leads out of|is no file any more"):
        upload_code(store, code, "/bench/code/", "/bench/files/", lambda *_: None)
    assert b"secret" not in store.contents.values()


class SwappingStore(MemoryStore):
    """Somebody swaps a file when it is about to be sent."""

    def __init__(self, swap: Callable[[], None]) -> None:
        super().__init__({})
        self._swap = swap

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        self._swap()
        super().put_many(pairs, on_progress)


@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_swapped_in_while_the_code_is_sent_is_not_sent_either(
    shared: Path, swap: Callable[[Path], None]
) -> None:
    code, store = read_code(spec(shared / "net"), WORKLOAD, {}, [shared]), SwappingStore(lambda: swap(shared))

    upload_code(store, code, "/bench/code/", "/bench/files/", lambda *_: None)

    assert store.contents["/bench/code/train.py"] == b"print()"


@pytest.mark.parametrize(
    ("folders", "message"),
    [
        ("code", "must be absolute paths, separated by commas"),
        ("/", "must not hold the data folder, or lie in it"),
        ("{data}/runs", "must not hold the data folder, or lie in it"),
        ("/srv/code, {data}/..", "must not hold the data folder, or lie in it"),
    ],
)
def test_the_data_folder_is_never_code(tmp_path: Path, folders: str, message: str) -> None:
    data = tmp_path / "data"

    with pytest.raises(SpecError, match=f"code_folders: {message}"):
        load_settings({"AISBENCH_DATA_DIR": str(data), "AISBENCH_CODE_FOLDERS": folders.format(data=data)})


def test_runs_series_schedules_and_algorithms_ask_whose_files_they_are(tmp_path: Path) -> None:
    core = open_core(Settings(data_dir=tmp_path / "data"))

    with pytest.raises(NotAllowed, match="names files on the server"):
        core.runs.launch(spec("/etc"), "sandbox", ENGINEER)
    with pytest.raises(NotAllowed, match="names files on the server"):
        core.series.launch(SeriesPlan(spec=spec("/etc"), hours_per_run=1), "sandbox", ENGINEER)
    with pytest.raises(NotAllowed, match="names files on the server"):
        core.algorithms.create(spec("/etc"), "sandbox", ENGINEER, lambda _done, _total: None)
    timing = {"name": "nightly", "cron": "0 2 * * *", "time_zone": "UTC"}
    with pytest.raises(NotAllowed, match="names files on the server"):
        core.schedules.add(SeriesPlan(spec=spec("/etc"), hours_per_run=1), timing, "sandbox", ENGINEER)
