"""The run page draws the curves of a run's event files, says what it leaves out, and is silent without any."""

import math
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.store.run_folders.run_paths import RunFolder
from pages._ui.runs.scalars import MAX_LINES, PAGE
from tests.console.conftest import OpenPage, texts
from tests.console.seeds import FAILED_RUN, RETRYING_RUN
from tests.event_files import NAME, event, file_of, write_plain, write_tensors


def summaries(data: Path, run_id: str = FAILED_RUN) -> Path:
    return RunFolder(data / "runs" / run_id).summaries


def store(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_bytes(content)


def marked(app: AppTest) -> list[str]:
    return [markdown.value for markdown in app.markdown]


def tags(app: AppTest) -> list[str]:
    return [text for text in marked(app) if text.startswith("**tag")]


@pytest.mark.parametrize("run", [FAILED_RUN, RETRYING_RUN])
def test_each_tag_is_a_chart_with_its_last_value(open_page: OpenPage, used: Path, run: str) -> None:
    write_plain(summaries(used, run) / "train_url", 5)
    write_tensors(summaries(used, run) / "train_url", 3, tag="test/accuracy")

    english, chinese = open_page("live", run=run), open_page("live", run=run, lang="zh")

    assert not english.exception
    assert {"**test/accuracy** · 0.33333 at step 2", "**train/loss** · 0.2 at step 4"} <= {*marked(english)}
    assert [header.value for header in english.subheader if header.value in ("train", "test")] == ["test", "train"]
    assert "**train/loss** · 第 4 步：0.2" in marked(chinese)
    assert "训练曲线" in [header.value for header in chinese.header]


def test_without_event_files_there_is_no_heading(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    assert "Training curves" not in texts(open_page("live", run=FAILED_RUN))


def test_what_is_not_drawn_is_said(open_page: OpenPage, used: Path) -> None:
    folder = summaries(used)
    good = file_of(event(0, loss=1), event(1, loss=math.nan))
    for directory in range(MAX_LINES + 1):
        store(folder / f"server_{directory:02}", good)
    broken = bytearray(file_of(event(0, loss=2)))
    broken[-1] ^= 1
    store(folder / "broken <b>", bytes(broken))

    shown = texts(open_page("live", run=FAILED_RUN))

    assert f"{MAX_LINES} of {MAX_LINES + 1} directories are drawn." in shown
    assert f"NaN or infinite, and not drawn: {MAX_LINES + 1}" in shown
    assert "Damaged event files, read in part: broken" in shown


def test_many_tags_are_shown_page_by_page(open_page: OpenPage, used: Path) -> None:
    store(summaries(used), file_of(event(0, **{f"tag{number:02}": 1.0 for number in range(PAGE + 2)})))

    first = tags(open_page("live", run=FAILED_RUN))
    second = tags(open_page("live", run=FAILED_RUN, curves="2"))

    assert (len(first), len(second)) == (PAGE, 2)
    assert second[-1] == f"**tag{PAGE + 1:02}** · 1 at step 0"


def test_a_tag_is_text_whatever_it_holds(open_page: OpenPage, used: Path) -> None:
    store(summaries(used), file_of(event(0, **{"[x](https://evil.example) <b>*a*": 1.0})))

    shown = [text for text in marked(open_page("live", run=FAILED_RUN)) if "evil" in text]

    assert shown
    assert not any("[x](https" in text or "<b>" in text.replace("\\<b", "") for text in shown)


def test_a_file_of_something_else_holds_no_scalars(open_page: OpenPage, used: Path) -> None:
    store(summaries(used), b"")

    assert "The event files hold no scalars yet." in texts(open_page("live", run=FAILED_RUN))
