"""Uploads on a real console: on disk while the page is open, within limits, and gone when its browser leaves."""

import os
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import in_chinese
from aisbench_core.interfaces.web.uploads import (
    MOST_FILE_BYTES,
    MOST_FORM_BYTES,
    MOST_SESSION_BYTES,
    MOST_SESSION_FILES,
    MOST_TEXT_BYTES,
    UPLOADS,
    NotOneFileError,
    OnePart,
    UploadLimitError,
    UploadStore,
    discard_upload,
    open_upload,
    read_upload,
)
from tests.browser.console_process import ConsoleProcess
from tests.console.uploading import UploadSession

SECONDS = 30
CONTENT = b"rank 0: 1000.5 samples/s\r\n--a-boundary-of-\r\n" * 40_000
SESSION, FILE = str(uuid.uuid4()), str(uuid.uuid4())


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    process = ConsoleProcess.start(tmp_path_factory.mktemp("uploads"))
    yield process
    process.stop()


@pytest.fixture
def store(tmp_path: Path) -> UploadStore:
    """The uploads of a console that has one open session."""
    return UploadStore.create(tmp_path, lambda session: session == SESSION, lambda _: "", 0)


def stored(console: ConsoleProcess) -> dict[str, bytes]:
    """The uploads that lie on the disk, by their ids."""
    return {path.name: path.read_bytes() for path in (console.data_dir / UPLOADS).glob("*/*/*")}


def wait_until_gone(console: ConsoleProcess) -> None:
    end = time.monotonic() + SECONDS
    folder = console.data_dir / UPLOADS
    while any(files for _, _, files in os.walk(folder)):  # which goes on where a folder is removed meanwhile
        assert time.monotonic() < end, "uploads were not removed"
        time.sleep(0.05)  # the console learns of it over its socket; there is nothing to be told by


def test_an_upload_lies_on_disk_until_it_is_removed_or_its_browser_leaves(console: ConsoleProcess) -> None:
    one, two = str(uuid.uuid4()), str(uuid.uuid4())

    with UploadSession.open(console.url) as session:
        statuses = [session.put([CONTENT], len(CONTENT), one), session.put([b""], 0, two, "empty.txt")]
        both = stored(console)
        statuses.append(session.delete(one))
        left = stored(console)

    assert statuses == [204, 204, 204]
    assert both == {one: CONTENT, two: b""}
    assert left == {two: b""}
    wait_until_gone(console)


def test_files_that_are_too_large_are_refused_before_they_are_sent(console: ConsoleProcess) -> None:
    with UploadSession.open(console.url) as session:
        assert session.announce(MOST_FILE_BYTES + MOST_FORM_BYTES + 1) == 413

    assert stored(console) == {}


def test_a_file_in_chunks_is_no_larger_than_it_said(console: ConsoleProcess) -> None:
    with UploadSession.open(console.url) as session:
        assert session.put_in_chunks(CONTENT, announced=1000) == 413
        assert session.put_in_chunks(b"small", announced=1000) == 204
        assert list(stored(console).values()) == [b"small"]

    wait_until_gone(console)


def test_uploads_for_a_page_that_is_not_open_are_refused(console: ConsoleProcess) -> None:
    with UploadSession.open(console.url) as session:
        pass
    wait_until_gone(console)

    assert session.put([CONTENT], len(CONTENT)) == 400


def test_a_file_whose_upload_breaks_off_is_removed(console: ConsoleProcess) -> None:
    with UploadSession.open(console.url) as session:
        with pytest.raises((OSError, ConnectionError)):
            session.put(_pieces_that_break_off(), len(CONTENT))

        wait_until_gone(console)


def _pieces_that_break_off() -> Iterator[bytes]:
    yield CONTENT[:1000]
    raise ConnectionError("the browser was closed")


def test_a_session_holds_only_so_much(store: UploadStore) -> None:
    for number in range(MOST_SESSION_BYTES // MOST_FILE_BYTES):
        store.reserve(SESSION, f"file-{number}", MOST_FILE_BYTES)

    with pytest.raises(UploadLimitError, match="it has 200 MB, and the page holds 400 MB of at most 500 MB already"):
        store.reserve(SESSION, FILE, MOST_FILE_BYTES)

    store.remove(SESSION, "file-0")
    store.reserve(SESSION, FILE, MOST_FILE_BYTES)


def test_all_pages_of_a_person_hold_only_so_much_and_those_of_others_have_their_own(tmp_path: Path) -> None:
    people = {"page-1": "ann", "page-2": "ann", "page-3": "bob"}
    store = UploadStore.create(tmp_path, people.__contains__, people.__getitem__, MOST_FILE_BYTES)
    store.reserve("page-1", "file", MOST_FILE_BYTES // 2)
    store.reserve("page-2", "file", MOST_FILE_BYTES // 4)

    with pytest.raises(UploadLimitError, match="your open pages hold 150 MB of at most 200 MB already"):
        store.reserve("page-2", "other", MOST_FILE_BYTES // 2)

    store.reserve("page-3", "file", MOST_FILE_BYTES // 2)
    store.reserve("page-2", "file", MOST_FILE_BYTES // 2)  # one that is replaced
    store.remove("page-1", "file")
    store.reserve("page-2", "other", MOST_FILE_BYTES // 2)


def test_a_session_holds_only_so_many(store: UploadStore) -> None:
    for number in range(MOST_SESSION_FILES):
        store.reserve(SESSION, f"file-{number}", 1)

    with pytest.raises(UploadLimitError, match="the page holds 1000 files already"):
        store.reserve(SESSION, FILE, 1)
    store.reserve(SESSION, "file-0", 1)  # one that is replaced


def test_a_file_beyond_the_limit_is_handed_to_its_page_as_a_reason(console: ConsoleProcess) -> None:
    with UploadSession.open(console.url) as session:
        [folder] = (console.data_dir / UPLOADS).iterdir()
        full = folder / session.id / str(uuid.uuid4())
        full.parent.mkdir(exist_ok=True)
        with full.open("wb") as other:
            os.truncate(other.fileno(), MOST_SESSION_BYTES)

        status = session.put([CONTENT], len(CONTENT))

        assert status == 204, "Streamlit takes what stands for the file"
        assert list(full.parent.iterdir()) == [full]
    wait_until_gone(console)


def test_a_page_says_why_a_file_was_not_uploaded(store: UploadStore, tmp_path: Path) -> None:
    store.reserve(SESSION, "file-0", MOST_FILE_BYTES)
    store.reserve(SESSION, "file-1", MOST_FILE_BYTES)
    with pytest.raises(UploadLimitError) as refusal:
        store.reserve(SESSION, FILE, MOST_FILE_BYTES)

    with pytest.raises(ConfigError) as said:
        open_upload(tmp_path, "rank_0.log", refusal.value.ticket())

    assert said.value.message == (
        "rank_0.log was not uploaded: it has 200 MB, and the page holds 400 MB of at most 500 MB already"
    )
    assert "upload the file again" in said.value.hint
    assert in_chinese(said.value.sentence).startswith(
        "rank_0.log 未上传：其大小为 200 MB，而页面已有 400 MB，最多 500 MB（请从页面移除"
    )


def test_a_large_file_of_settings_is_named_with_its_size(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config.py is too large: it has 5\.5 MB; allowed: 5 MB"):
        read_upload(tmp_path, "config.py", b"x" * (MOST_TEXT_BYTES + 512 * 1024))


def test_a_ticket_opens_its_file_until_that_is_discarded(store: UploadStore, tmp_path: Path) -> None:
    path = store.reserve(SESSION, FILE, len(CONTENT))
    path.write_bytes(CONTENT)
    ticket = store.ticket(SESSION, FILE)

    with open_upload(tmp_path, "a.log", ticket) as file:
        assert file.read() == CONTENT
    discard_upload(tmp_path, ticket)

    with pytest.raises(ConfigError, match="no longer on the server"):
        open_upload(tmp_path, "a.log", ticket)


@pytest.mark.parametrize("content", [b"", b"plain text", b"aisbench-upload 1-a/../../credentials.yaml"])
def test_other_content_stands_for_itself(tmp_path: Path, content: bytes) -> None:
    assert open_upload(tmp_path, "a.log", content).read() == content
    discard_upload(tmp_path, content)


def test_what_a_killed_console_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    code = "import sys, pathlib; from aisbench_core.interfaces.web.uploads import UploadStore; import os; "
    code += f"store = UploadStore.create(pathlib.Path({str(tmp_path)!r}), lambda s: True, str, 0); "
    code += "store.reserve('s', 'f', 10); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    left = list((tmp_path / UPLOADS).iterdir())

    mine = UploadStore.create(tmp_path, {SESSION}.__contains__, str, 0)

    assert len(left) == 1
    assert list((tmp_path / UPLOADS).iterdir()) == [mine.folder]
    assert stat.S_IMODE(mine.folder.stat().st_mode) == 0o700
    mine.close()
    assert list((tmp_path / UPLOADS).iterdir()) == []


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_form_may_arrive_in_pieces_of_any_size(size: int) -> None:
    header = b'Content-Disposition: form-data; name="f"; filename="\xe6\x97\xa5.log"\r\nContent-Type: text/plain\r\n'
    content = CONTENT[:5_000]
    body = b"--b\r\n" + header + b"\r\n" + content + b"\r\n--b--\r\n"
    part = OnePart("multipart/form-data; boundary=b")

    got = b"".join(part.feed(body[start : start + size]) for start in range(0, len(body), size))
    part.finish()

    assert got == content
    assert bytes(part.header) == header


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain", b"x"),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", b"no form"),
        ("multipart/form-data; boundary=b", b"--b\r\nA: b\r\n\r\ncut off"),
        ("multipart/form-data; boundary=b", b"--b\r\nA: b\r\n\r\n1\r\n--b\r\nA: b\r\n\r\n2\r\n--b--\r\n"),
    ],
)
def test_what_is_no_form_with_one_file_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(NotOneFileError):
        _parse(content_type, body)


def _parse(content_type: str, body: bytes) -> None:
    part = OnePart(content_type)
    part.feed(body)
    part.finish()
