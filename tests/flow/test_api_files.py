"""Files and curves of runs for programs: over REST, by the Python client and by `aisbench files`."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest

from aisbench_core.domain.progress.points import add_points
from aisbench_core.interfaces.client import ApiProblem, Client
from aisbench_core.model import Role, TrainingPoint
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.event_files import event, file_of
from tests.flow.api_process import ApiProcess, Program, require_problem, token_of
from tests.flow.following import Bench
from tests.flow.remote_shell import RemoteShell
from tests.flow.test_client import listening

ODD = "summaries/\u8bad\u7ec3 1/a+b%2F#?.txt"
EVENTS = "summaries/train_url/events.out.tfevents.1700000000.host"
STEPS = 3000


@pytest.fixture(scope="module")
def folder(api_bench: Bench) -> RunFolder:
    """The folder of a run with files of every sort, and some that are not for reading."""
    run = api_bench.core.ledger.add(replace(a.run("files-1"), version=0))
    folder = RunFolder(api_bench.core.settings.runs_dir / run.run_id)
    for name, content in {
        "spec.yaml": b"workload: quickstart_digits\n",
        "logs/worker-0.log": b"0123456789",
        "empty.txt": b"",
        ODD: b"odd",
        EVENTS: file_of(*(event(step, loss=1 / (step + 1)) for step in range(STEPS)), event(0, other=1.0)),
        ".draft": b"half",
    }.items():
        file = folder.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    (folder.path / "link.json").symlink_to(api_bench.core.settings.data_dir / "ledger.sqlite3")
    (folder.path / "logs" / "elsewhere").symlink_to(api_bench.core.settings.data_dir)
    (folder.path / os.fsdecode(b"\xff.txt")).write_bytes(b"no name")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    points = [TrainingPoint(start + timedelta(minutes=step), step=step, loss=float(step)) for step in range(1000)]
    add_points(points, folder.progress, 0)
    return folder


@pytest.fixture
def viewer(api_server: ApiProcess, api_bench: Bench, folder: RunFolder) -> Program:
    assert folder.path.is_dir()
    return Program(api_server.url, token_of(api_bench, role=Role.VIEWER, read_only=True))


@pytest.fixture
def client(viewer: Program) -> Client:
    return Client(viewer.url, viewer.token)


def test_the_list_has_every_file_in_pages_but_no_drafts_and_no_links(viewer: Program, folder: RunFolder) -> None:
    first = viewer.get("/runs/files-1/files", limit=4).json
    second = viewer.get("/runs/files-1/files", limit=4, cursor=first["next"]).json

    found = {item["name"]: item["size"] for item in [*first["items"], *second["items"]]}

    assert second["next"] is None
    assert [*found] == [
        "empty.txt", "logs/worker-0.log", "progress.jsonl", "spec.yaml", EVENTS, ODD,
    ]  # fmt: skip
    assert found["logs/worker-0.log"] == 10
    assert found[EVENTS] == (folder.path / EVENTS).stat().st_size


def test_a_file_is_read_whole_by_range_and_once_per_version(viewer: Program, folder: RunFolder) -> None:
    path = "/runs/files-1/files/logs/worker-0.log"
    whole = viewer.get(path)
    tag = str(whole.headers["ETag"])

    part = viewer.get(path, {"Range": "bytes=2-4", "If-Range": tag})
    same = viewer.get(path, {"If-None-Match": tag})
    behind = viewer.get(path, {"Range": "bytes=10-"})
    empty = viewer.get("/runs/files-1/files/empty.txt")
    with folder.log(0).open("ab") as log:
        log.write(b"more")
    grown = viewer.get(path, {"Range": "bytes=2-4", "If-Range": tag, "If-None-Match": tag})

    assert (whole.status, whole.content, whole.headers["Content-Length"]) == (200, b"0123456789", "10")
    assert (whole.headers["Content-Disposition"], whole.headers["Content-Type"]) == (
        "attachment", "application/octet-stream",
    )  # fmt: skip
    assert (part.status, part.content, part.headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    assert (same.status, same.content, same.headers["ETag"]) == (304, b"", tag)
    assert (behind.status, behind.headers["Content-Range"]) == (416, "bytes */10")
    assert (empty.status, empty.content) == (200, b"")
    assert (grown.status, grown.content) == (200, b"0123456789more")
    assert grown.headers["ETag"] != tag
    for wrong in ("bytes=4-2", "bytes=1-2,5-6", "lines=1-2"):
        require_problem(viewer.get(path, {"Range": wrong}), 422, "spec-error")


@pytest.mark.parametrize(
    "name",
    [
        *("..", "../../ledger.sqlite3", "logs/../../../settings.yaml", "/etc/passwd", "logs/elsewhere/ledger.sqlite3"),
        *("link.json", ".draft", "logs", "logs/", "", "nothing.txt", "spec.yaml/", "spec.yaml\0", "\u4e2d", "x" * 5000),
    ],
)
def test_no_name_leads_out_of_the_folder_or_to_what_is_not_listed(viewer: Program, name: str) -> None:
    encoded = viewer.get(f"/runs/files-1/files/{quote(name, safe='')}")
    plain = viewer.get(f"/runs/files-1/files/{quote(name)}")

    for reply in (encoded, plain):
        assert reply.status == 404, reply.content
        assert reply.json["code"] in ("run-not-found", "no-such-path")
        assert b"SQLite" not in reply.content


def test_files_and_curves_need_a_token_and_a_run(viewer: Program) -> None:
    for path in ("files", "files/spec.yaml", "curves", "training"):
        require_problem(viewer.with_token("").get(f"/runs/files-1/{path}"), 401, "token-refused")
        require_problem(viewer.get(f"/runs/nothing/{path}"), 404, "run-not-found")


def test_curves_have_so_many_points_as_the_page_draws(client: Client, viewer: Program) -> None:
    (loss,) = client.curves("files-1", tag="l*s")
    both = viewer.get("/runs/files-1/curves").json

    assert (loss["tag"], loss["directory"], loss["count"]) == ("loss", "train_url", STEPS)
    assert (loss["highest"], loss["last"]["step"]) == (1.0, STEPS - 1)
    steps = [point["step"] for point in loss["points"]]
    assert steps == sorted(steps)
    assert 400 <= len(steps) <= 800
    assert [curve["tag"] for curve in both["items"]] == ["loss", "other"]
    assert (both["files"], both["damaged"], both["excluded"]) == (1, [], False)


def test_training_has_the_points_of_the_log_evenly_with_the_newest(client: Client, viewer: Program) -> None:
    few = client.training("files-1", most=10)
    answer = viewer.get("/runs/files-1/training").json

    assert [point["step"] for point in few] == [*range(99, 1000, 100)]
    assert few[-1] | {"step": None} == few[-1] | {"step": None, "loss": 999.0, "throughput": None}
    assert (answer["count"], len(answer["points"])) == (1000, 200)
    require_problem(viewer.get("/runs/files-1/training", most=0), 422, "spec-error")


def test_the_client_downloads_every_file_as_it_is(client: Client, folder: RunFolder, tmp_path: Path) -> None:
    names = [file["name"] for file in client.files("files-1")]

    for number, name in enumerate(names):
        client.download("files-1", name, tmp_path / str(number))

    contents = [(tmp_path / str(number)).read_bytes() for number in range(len(names))]
    assert contents == [(folder.path / name).read_bytes() for name in names]
    with pytest.raises(ApiProblem, match="has no file 'nothing'"):
        client.download("files-1", "nothing", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_download_that_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    class Half(BaseHTTPRequestHandler):
        """Says more than it sends."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")

        def log_message(self, *_: object) -> None:
            """Nothing."""

    file = tmp_path / "record.json"
    file.write_bytes(b"old")

    with listening(Half) as address, pytest.raises(ApiProblem, match="is incomplete: the connection broke"):
        Client(address, "aisb_x").download("r-1", "record.json", file)

    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


def test_the_command_lists_and_prints_files_over_a_server(viewer: Program, folder: RunFolder, tmp_path: Path) -> None:
    shell = RemoteShell(viewer.url, viewer.token, tmp_path)

    table = shell.type("files", "files-1")
    listed = json.loads(shell.type("files", "files-1", "--json").stdout)
    spec = shell.type("files", "files-1", "spec.yaml")
    saved = shell.type("files", "files-1", EVENTS, "--output", str(tmp_path / "events"))
    outside = shell.type("files", "files-1", "../../ledger.sqlite3")

    assert "spec.yaml" in table.stdout
    assert {each["name"] for each in listed} >= {"spec.yaml", EVENTS}
    assert spec.stdout == "workload: quickstart_digits\n"
    assert saved.exit_code == 0, saved.stderr
    assert (tmp_path / "events").read_bytes() == (folder.path / EVENTS).read_bytes()
    assert outside.exit_code == 2
    assert "has no file '../../ledger.sqlite3'" in outside.stderr
    assert shell.type("files", "files-1", "--output", "x").exit_code == 2
    assert shell.type("files", "files-1", "spec.yaml", "--json").exit_code == 2
