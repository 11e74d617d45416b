"""What data a run reads, on its pages: while its inputs are listed, and afterwards."""

from dataclasses import replace
from pathlib import Path

from aisbench_core.base.clock import utc_now
from aisbench_core.model import Event, Level, Progress, RunState
from aisbench_core.store.ledger.ledger import Ledger
from tests import records as a
from tests.console.conftest import OpenPage
from tests.console.grids import Grid
from tests.console.seeds import ACTIVE_RUN, DONE_RUN

LISTED = '{"inputs": {"data_url": {"sha256": "cafe", "objects": 1281167, "size": 147897477120}}}'
SINGLE = '{"inputs": {"data_url": {"sha256": "f00d", "objects": 1, "size": 3}}}'
UNKNOWN = '{"inputs": {"data_url": {"reason": "it has more than 2,000,000 objects"}}}'

NAMED = (
    '{"image": {"sha256": "beef"}, "code": {"sha256": "c0de", "objects": 4},'
    ' "files": {"config_path": {"sha256": "f11e", "objects": 1}}}'
)
UNNAMED = (
    '{"image": {"reason": "SWR does not know it"}, "code": {"reason": "it was deleted"},'
    ' "files": {"config_path": {"reason": "it is not in the code folder"}}}'
)
DIGEST, ALGORITHM = "Image digest", "Algorithm's content (SHA-256)"


def test_a_launch_that_lists_its_inputs_says_how_far_it_is(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    ledger.set_progress(Progress(ACTIVE_RUN, RunState.UPLOADING, 12_000, 0, "objects", utc_now()))

    row = Grid(open_page("runs")).row(ACTIVE_RUN)

    assert row["status"] == "Uploading · 12,000 objects · stage 2 of 6"


def test_a_run_shows_how_much_data_it_read_or_why_that_is_unknown(open_page: OpenPage, used: Path) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = ledger.get(DONE_RUN)
    spec = run.spec.model_validate(
        {**run.spec.model_dump(), "inputs": [{"name": "data_url", "path": "/data/imagenet/"}]}
    )
    values = []
    for run_id, resolved in (("listed", LISTED), ("single", SINGLE), ("unlisted", UNKNOWN)):
        launched = Event(run_id, a.T0, "console", Level.INFO, "launched", "ann")
        ledger.add(replace(run, run_id=run_id, spec=spec), launched)
        folder = used / "runs" / run_id
        folder.mkdir(parents=True)
        (folder / "resolved.json").write_text(resolved, "utf-8")
        (sent,) = [table.value for table in open_page("live", run=run_id).dataframe if "Kind" in table.value.columns]
        values.append(dict(zip(sent["Field"], sent["Value"], strict=True))["Data of data_url"])

    assert values == [
        "1,281,167 objects, 137.7 GiB, SHA-256 cafe",
        "1 object, 3 B, SHA-256 f00d",
        "it has more than 2,000,000 objects",
    ]


def test_a_run_shows_what_its_image_its_algorithm_and_its_files_stood_for_or_why_that_is_unknown(
    open_page: OpenPage, used: Path
) -> None:
    ledger = Ledger(used / "ledger.sqlite3")
    run = ledger.get(DONE_RUN)
    spec = run.spec.model_copy(update={"parameters": {"config_path": "configs/base.yaml", "epochs": 3}})
    shown = []
    for run_id, resolved in (("named", NAMED), ("unnamed", UNNAMED), ("before", None)):
        ledger.add(
            replace(run, run_id=run_id, spec=spec), Event(run_id, a.T0, "console", Level.INFO, "launched", "ann")
        )
        folder = used / "runs" / run_id
        folder.mkdir(parents=True)
        if resolved:
            (folder / "resolved.json").write_text(resolved, "utf-8")
        (sent,) = [table.value for table in open_page("live", run=run_id).dataframe if "Kind" in table.value.columns]
        shown.append(dict(zip(sent["Field"], sent["Value"], strict=True)))

    named, unnamed, before = shown
    assert (named[DIGEST], named[ALGORITHM]) == ("sha256:beef", "c0de")
    assert named["config_path"] == "configs/base.yaml (sha256:f11e)"
    assert (unnamed[DIGEST], unnamed[ALGORITHM]) == ("SWR does not know it", "it was deleted")
    assert unnamed["config_path"] == before["config_path"] == "configs/base.yaml"
    assert not {DIGEST, ALGORITHM} & before.keys(), "nobody asked for it"
