"""What happens to a series is told in Chinese, but for what others said."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import in_chinese
from aisbench_core.model import RunState, Series
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SeriesBench


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def told(bench: SeriesBench, series: Series) -> list[str]:
    return [in_chinese(event.message) for event in bench.look(series).events]


def test_a_series_tells_its_story_in_chinese(bench: SeriesBench) -> None:
    series = bench.launch(repeats=2, hours_per_run=1, budget=1.2)
    (run,) = bench.admit()
    bench.end(run, hours=1, state=RunState.FAILED)
    bench.admit()
    bench.core.series.resume(series.series_id, 5, named(PERSON))
    bench.core.series.rerun(series.series_id, named(PERSON))
    bench.core.series.stop(series.series_id, named(PERSON))

    assert told(bench, series) == [
        "已启动：2 格，约 2 节点时",
        "已搁置：预算为 1.2 节点时，已用及为进行中的运行预留共 1，下一格约需 1",
        "预算：5 节点时（原为 1.2 节点时）",
        "再次运行：1 格",
        "已停止",
    ]


def test_a_series_without_a_budget_has_none(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)

    bench.core.series.resume(series.series_id, 2, named(PERSON))

    assert told(bench, series)[-1] == "预算：2 节点时（原为 无）"


def test_why_a_cell_cannot_be_launched_is_told_with_the_words_of_others(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)
    (bench.core.settings.profiles_dir / "quiet.yaml").unlink()

    bench.admit()

    error = bench.core.series.get(series.series_id).launch_error
    assert in_chinese(error).startswith("没有名为 'quiet' 的配置档案")
    assert told(bench, series)[-1] == f"已搁置：{in_chinese(error)}"


def test_a_series_with_nothing_to_run_again_says_so_in_chinese(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)

    with pytest.raises(SpecError) as refused:
        bench.core.series.rerun(series.series_id, named(PERSON))

    said = f"测试系列 {series.series_id}：cells：没有已结束但缺少有效结果的格（实际为 0 个有效）"
    assert in_chinese(refused.value.sentence) == said
