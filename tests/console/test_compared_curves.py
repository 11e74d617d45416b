"""Compare draws the trainings of its runs in one chart: loss, throughput and tags, over steps or time."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from aisbench_core.domain.progress.points import add_points
from aisbench_core.model import TrainingPoint
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.seeds import DONE_RUN
from tests.event_files import write_plain

OTHER = "run-n1-1"
TITLE = "Training curves"


def log(data: Path, run_id: str, *losses: float) -> None:
    points = [
        TrainingPoint(a.T0 + timedelta(seconds=20 * step), step, 9, loss=loss, throughput=100.0 * (step + 1))
        for step, loss in enumerate(losses)
    ]
    add_points(points, data / "runs" / run_id / "progress.jsonl", 0)


def charts(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(element.proto.spec) for element in app.get("vega_lite_chart")]


def drawn(app: AppTest) -> dict[str, Any]:
    return next(chart for chart in charts(app) if "strokeDash" in chart.get("encoding", {}))


def test_the_trainings_of_the_runs_are_lines_of_one_chart(open_page: OpenPage, used: Path) -> None:
    log(used, DONE_RUN, 2.0, 1.0, 0.5)
    log(used, OTHER, 2.0, 1.5)
    write_plain(RunFolder(used / "runs" / OTHER).summaries / "train_url", 5)

    app = open_page("compare", ids=[DONE_RUN, OTHER], curve="loss", x="time", log="1", smooth="0.6")

    assert not app.exception
    chart = drawn(app)
    assert chart["encoding"]["y"]["title"] == "Loss"
    assert chart["encoding"]["y"]["scale"]["type"] == "log"
    assert chart["encoding"]["x"]["title"] == "Time since the first point (s)"
    assert chart["encoding"]["color"]["scale"]["domain"] == [DONE_RUN, OTHER]
    assert app.selectbox(key="curve").options == ["Loss", "Throughput", "train/loss"]
    tagged = open_page("compare", ids=[DONE_RUN, OTHER], curve="train/loss", lang="zh")
    assert drawn(tagged)["encoding"]["x"]["title"] == "步数"
    assert f"没有此曲线：{DONE_RUN}" in texts(tagged)


def test_curves_are_read_when_they_are_unfolded_and_offered_only_where_there_are_any(
    open_page: OpenPage, used: Path
) -> None:
    assert TITLE not in [each.label for each in open_page("compare", ids=[DONE_RUN, OTHER]).expander]
    log(used, DONE_RUN, 2.0, 1.0)

    folded = open_page("compare", ids=[DONE_RUN, OTHER])

    assert TITLE in [each.label for each in folded.expander]
    assert "curve" not in [field.key for field in folded.selectbox]
