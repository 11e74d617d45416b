"""Curves of a run grow on its page, and TensorBoard opens from there, below the console's own address."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.store.run_folders.run_paths import RunFolder
from pages._ui.run.page import METRICS_SECONDS
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow
from tests.console import seeds
from tests.event_files import NAME, event, file_of, write_plain, write_tensors
from tests.training_client import await_true

LOSS = [2.3 * 0.9**step + 0.1 for step in range(60)]


@pytest.fixture
def used(tmp_path: Path) -> Iterator[ConsoleProcess]:
    """A console that was used for a while; nobody follows its runs but the test."""
    seeds.fill(tmp_path)
    with FileLock(tmp_path / "follower.lock"):
        process = PreparedConsole.start(tmp_path)
        yield process
        process.stop()


def summaries(console: ConsoleProcess, run_id: str) -> Path:
    folder = RunFolder(console.data_dir / "runs" / run_id).summaries / "train_url" / "summaries"
    folder.mkdir(parents=True)
    return folder


def test_curves_grow_while_the_page_is_open(used: ConsoleProcess, window: OpenWindow) -> None:
    file = summaries(used, seeds.RETRYING_RUN) / NAME
    file.write_bytes(file_of(*(event(step, train__loss=LOSS[step]) for step in range(20))))
    visit = window(used)
    visit.page.clock.install()
    visit.open(f"/live?run={seeds.RETRYING_RUN}")
    expect(visit.page.get_by_text("train/loss · 0.4107 at step 19")).to_be_visible()

    with file.open("ab") as events:
        events.write(file_of(*(event(step, train__loss=LOSS[step]) for step in range(20, 41))))
    visit.page.clock.fast_forward(int(METRICS_SECONDS * 1000))

    expect(visit.page.get_by_text("at step 40")).to_be_visible()
    assert visit.troubles() == []


@pytest.mark.parametrize(
    ("width", "dark", "locale"), [(1280, False, "en-US"), (1920, True, "zh-CN")], ids=["english", "chinese"]
)
def test_the_page_draws_every_tag(
    used: ConsoleProcess, window: OpenWindow, width: int, dark: bool, locale: str
) -> None:
    folder = summaries(used, seeds.FAILED_RUN)
    points = enumerate(LOSS)
    (folder / NAME).write_bytes(
        file_of(*(event(step, train__loss=loss, train__samples_per_second=980 + step % 7) for step, loss in points))
    )
    write_tensors(folder / "test", 12, tag="test/accuracy")
    visit = window(used, width=width, dark=dark, locale=locale)

    visit.open(f"/live?run={seeds.FAILED_RUN}")

    heading = "训练曲线" if locale == "zh-CN" else "Training curves"
    visit.page.get_by_role("heading", name=heading).scroll_into_view_if_needed()
    expect(visit.page.get_by_test_id("stVegaLiteChart").nth(2)).to_be_attached()
    visit.rest()
    visit.picture(f"training-curves-{locale}-{width}")
    assert visit.troubles() == []


def test_tensorboard_opens_from_the_page_and_ends_with_the_console(used: ConsoleProcess, window: OpenWindow) -> None:
    write_plain(summaries(used, seeds.FAILED_RUN), 20)
    visit = window(used)
    visit.open(f"/live?run={seeds.FAILED_RUN}")

    visit.page.get_by_role("button", name="Start TensorBoard").click()
    link = visit.page.get_by_role("link", name="Open TensorBoard")
    expect(link).to_be_visible()
    with visit.page.context.expect_page() as opened:
        link.click()
    board = opened.value
    expect(board.get_by_text("train/loss", exact=True).first).to_be_visible()
    address = board.url
    board.close()
    console, started, troubles = used.pid, tensorboards(used.pid), visit.troubles()
    used.kill()

    assert address.startswith(f"{used.url}/tensorboard/")
    assert (len(started), troubles) == (1, [])
    await_true(lambda: not tensorboards(console), "the end of TensorBoard")


def tensorboards(console: int) -> list[int]:
    """The processes of TensorBoard that a console has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if b"aisbench_core.domain.summaries.tensorboard_process" in words and str(console).encode() in words:
            found.append(int(folder.name))
    return found
