"""Uploading code: what OBS holds is not sent again, and large files are sent once for all code."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from aisbench_core.base.errors import CloudRejected
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.ports import ObjectStat, OnProgress
from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import REPORTER, Workloads
from aisbench_core.model import RunSpec
from aisbench_core.running.code import LARGE, CodeManifest, read_code, upload_code
from tests.memory_store import MemoryStore

WORKLOAD = Workloads(HOME / "workloads").get("quickstart_digits")
SHARED = "/bench/aisbench/files/"


class CountingStore(MemoryStore):
    """Notes the bytes that are sent; copies are refused where a test wants it."""

    def __init__(self) -> None:
        super().__init__({})
        self.sent: list[str] = []
        self.copies = True

    def put(self, path: str, source: Path | bytes) -> ObjectStat:
        self.sent.append(path)
        return super().put(path, source)

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        super().put_many(pairs, on_progress)

    def copy(self, path: str, target: str) -> None:
        if not self.copies:
            raise CloudRejected(make_verbatim("not allowed"), operation=f"copy {path}")
        super().copy(path, target)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    code = tmp_path / "code"
    (code / "run").mkdir(parents=True)
    (code / "train.py").write_text("print()\n")
    (code / "run" / "package.run").write_bytes(os.urandom(LARGE))
    return code


def code_of(folder: Path) -> CodeManifest:
    return read_code(RunSpec(workload=WORKLOAD.name, code_dir=str(folder)), WORKLOAD)


def sent(store: CountingStore, code: CodeManifest, directory: str) -> list[str]:
    """What is sent to make a directory equal to the code."""
    store.sent.clear()
    told: list[tuple[int, int]] = []
    upload_code(store, code, directory, SHARED, lambda done, total: told.append((done, total)))
    assert told[-1][0] <= told[-1][1] == len(code.files)
    assert {path.removeprefix(directory) for path in store.contents if path.startswith(directory)} == {
        file.name for file in code.files
    }
    return list(store.sent)


def test_a_large_file_is_sent_once_however_often_the_code_beside_it_changes(folder: Path) -> None:
    store = CountingStore()
    before = sent(store, code_of(folder), "/bench/code/one/")
    (folder / "train.py").write_text("print(2)\n")

    after = sent(store, code_of(folder), "/bench/code/two/")

    package = (folder / "run" / "package.run").read_bytes()
    assert [path for path in before if path.startswith(SHARED)] == [path for path in store.contents if SHARED in path]
    assert sorted(after) == [f"/bench/code/two/{name}" for name in (*sorted(REPORTER), "train.py")]
    assert store.contents["/bench/code/two/run/package.run"] == package
    assert sent(store, code_of(folder), "/bench/code/two/") == []


def test_a_file_of_the_same_name_and_size_with_other_bytes_is_another_one(folder: Path) -> None:
    store = CountingStore()
    sent(store, code_of(folder), "/bench/code/one/")
    (folder / "run" / "package.run").write_bytes(os.urandom(LARGE))

    after = sent(store, code_of(folder), "/bench/code/two/")

    assert len([path for path in after if path.startswith(SHARED)]) == 1
    assert store.contents["/bench/code/two/run/package.run"] == (folder / "run" / "package.run").read_bytes()


def test_where_copying_is_refused_the_file_is_sent(folder: Path) -> None:
    store = CountingStore()
    store.copies = False

    before = sent(store, code_of(folder), "/bench/code/one/")

    assert "/bench/code/one/run/package.run" in before


def test_small_files_go_where_the_code_goes_and_nowhere_else(folder: Path) -> None:
    (folder / "run" / "package.run").write_bytes(b"small")
    store = CountingStore()

    assert not [path for path in sent(store, code_of(folder), "/bench/code/one/") if path.startswith(SHARED)]
