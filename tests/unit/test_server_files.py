"""Whoever is no admin launches with code and packages of the open folders only."""

from pathlib import Path

import pytest

from aisbench_core.access.server_files import require_open_files
from aisbench_core.errors import NotAllowed
from aisbench_core.model import Actor, Role, RunSpec, SeriesPlan, WayIn
from aisbench_core.settings import Settings
from aisbench_core.wiring import open_core

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
