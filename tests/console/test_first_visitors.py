"""The first visitors of a fresh console, all at once: each sees a page, whatever their threads load at that moment."""

import ast
import asyncio
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.bench.viewers import Viewer
from tests.ports import free_port
from tests.source_tree import files_of, path_of, tree_of

ROOT = Path(__file__).parents[2]
PAGES = ("history", "leaderboard", "scaling", "compare", "series", "runs", "spending", "health")
READY_SECONDS = 120


async def visit(address: str) -> list[Viewer]:
    """Everybody's first page, as soon as the console answers."""
    viewers = [Viewer(address, "", page) for page in PAGES]
    async with asyncio.timeout(READY_SECONDS):
        while not await asyncio.to_thread(answers, address):
            await asyncio.sleep(0.05)
        looking = [asyncio.create_task(viewer.look()) for viewer in viewers]
        await asyncio.gather(*(viewer.is_open.wait() for viewer in viewers))
    for task in looking:
        task.cancel()
    await asyncio.gather(*looking, return_exceptions=True)
    return viewers


def answers(address: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{address}/_stcore/health", timeout=5):
            return True
    except OSError:
        return False


@pytest.mark.slow
def test_the_first_visitors_of_a_fresh_console_meet_no_incident(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, "AISBENCH_DATA_DIR": str(tmp_path / "data")}
    with (
        (tmp_path / "said").open("wb") as said,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said) as process,
    ):
        try:
            viewers = asyncio.run(visit(address))
        finally:
            process.terminate()

    assert [viewer.errors for viewer in viewers] == [[]] * len(PAGES)
    assert re.findall("incident.*|.*Error.*", (tmp_path / "said").read_text("utf-8")) == []


def test_what_charts_are_made_of_is_loaded_before_anybody_is_served(tmp_path: Path) -> None:
    program = "import sys, app; print(*sorted({'altair', 'pandas', 'pyarrow'} & set(sys.modules)))"
    environment = {**os.environ, "AISBENCH_DATA_DIR": str(tmp_path)}

    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, check=True)

    assert run.stdout.split() == [b"altair", b"pandas", b"pyarrow"]


def test_charts_are_drawn_in_functions_and_not_while_a_page_is_imported() -> None:
    made = [
        f"{path_of(file)}: {ast.unparse(call)}"
        for file in files_of("pages")
        for statement in tree_of(file).body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith(("alt.", "pa."))
    ]

    assert made == []
