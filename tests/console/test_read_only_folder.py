"""Pages over a data folder that cannot be written: results are shown, and what would store something is refused."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.read_only_pages import STORING
from tests.console.seeds import DONE_RUN, FAILED_RUN
from tests.ports import free_port
from tests.read_only_folder import ROOT, by_mount, content, run

BOTH = ["run-n1-0", "run-n1-1"]
RESULTS: list[tuple[str, dict[str, object]]] = [
    ("", {}),
    ("leaderboard", {}),
    ("compare", {"ids": BOTH}),
    ("scaling", {"run": DONE_RUN}),
    ("history", {"region": "cn-north-9", "nodes": "1"}),
    ("health", {}),
    ("runs", {}),
    ("live", {"run": DONE_RUN}),
    ("series", {}),
]
PRESSED: list[tuple[str, dict[str, object], dict[str, str]]] = [
    ("leaderboard", {}, {"view-name": "Mine", "view-save": ""}),
    ("live", {"run": DONE_RUN}, {"annotation-tags": "good", "annotation-save": ""}),
    ("live", {"run": FAILED_RUN}, {"collect-one": ""}),
    ("history", {"region": "cn-north-9", "nodes": "1"}, {"mark-baseline": ""}),
]


def test_results_are_shown_and_whatever_stores_something_is_refused(
    used: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = [*((*each, {}) for each in RESULTS), *PRESSED, *((page, {}, {}) for page in STORING)]
    answer = tmp_path_factory.mktemp("answer") / "answer.json"
    before = content(used)

    words = [*by_mount(used), sys.executable, "-m", "tests.console.read_only_pages", str(answer)]
    run(words, {"AISBENCH_DATA_DIR": str(used), "AISBENCH_REQUEST_SECONDS": "2"}, json.dumps(asked))

    found = json.loads(answer.read_text("utf-8"))
    results, pressed, storing = found[: len(RESULTS)], found[len(RESULTS) : -len(STORING)], found[-len(STORING) :]
    assert [each["incidents"] for each in found if each["incidents"]] == []
    assert results[0]["title"] == ["Home"]
    for (page, _), said in zip(RESULTS, results, strict=True):
        assert any("is read-only: results can be read" in each for each in said["warnings"]), (page, said)
        assert "read-only" not in str(said["errors"]).replace("\\", ""), (page, said)
    for page in ("leaderboard", "compare", "scaling", "history"):
        said = results[[each for each, _ in RESULTS].index(page)]
        assert re.search("7,?900|8,?000|8,?100", str(said["whole"])), page
    for said in (*pressed, *storing):
        assert [each.replace("\\", "") for each in said["refused"]] == [
            f"the folder {used} is read-only: what it holds can be read, but nothing can be stored in it"
        ], said
        assert any("make it writable for this user" in each for each in said["hints"])
    assert content(used) == before


def test_a_console_is_served_without_a_follower_and_ends_when_it_is_told_to(used: Path) -> None:
    port, before = str(free_port()), content(used)
    words = [*by_mount(used), sys.executable, "-m", "aisbench_core.interfaces.cli", "serve", "--port", port]
    environment = os.environ | {"AISBENCH_DATA_DIR": str(used)}

    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        first = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)

    assert first == f"AISBench console: http://127.0.0.1:{port}\n", err
    assert f"the folder {used} is read-only: runs are neither launched nor followed" in err
    assert "Traceback" not in err
    assert content(used) == before
