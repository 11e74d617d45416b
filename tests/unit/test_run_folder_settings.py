"""The setting run_folders: what is refused, and that nothing happens without it."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.config.settings import Settings, load_settings
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.location import run_folders
from aisbench_core.store.run_folders.parts import FolderPart

RUN = "r20260101-000000-aaaaaa"


def test_run_folders_on_obs_need_a_ledger_in_postgresql(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, run_folders="obs://team/bench")
    ledger = Ledger(tmp_path / "ledger.sqlite3")

    with pytest.raises(ConfigError, match="run_folders is obs://team/bench, but the ledger is a file"):
        run_folders(settings, ledger, Clouds(settings, 5))


def test_without_the_setting_nothing_is_asked_and_nothing_written(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    folders = run_folders(settings, Ledger(tmp_path / "no" / "ledger.sqlite3"), Clouds(settings, 5))

    folders.publish(RUN)
    folders.refresh([RUN], FolderPart.ALL)
    assert folders.update(RUN, ["annotations.jsonl"], lambda: 7) == 7
    assert folders.fetch(RUN) == []
    assert list(folders.fetch_all()) == []

    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("found", ["s3://team/bench", "obs://", "obs://Team/bench", "obs://team/a b", "/team/bench"])
def test_a_setting_that_is_no_directory_in_obs_is_refused(found: str) -> None:
    with pytest.raises(SpecError, match=r"run_folders: must be obs://bucket/prefix"):
        load_settings({"AISBENCH_RUN_FOLDERS": found})

    assert load_settings({"AISBENCH_RUN_FOLDERS": "obs://team"}).run_folders == "obs://team"
