"""Old results in archives: read where they are, and never more than can be borne."""

import gzip
import io
import random
import tarfile
import tracemalloc
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from aisbench_core.base.messages import make_verbatim
from aisbench_core.exchange.readers.archives import Opened, TooMuchError, UnpackingBudget, unpack_open_file
from aisbench_core.exchange.readers.names import is_wanted
from aisbench_core.exchange.readers.reading import read_files, read_path, read_stream
from aisbench_core.exchange.readers.results import InputFile, ParsedResult, Unread
from tests.unit.old_logs import BERT, RESNET
from tests.unit.test_history_folders import cluster


def zipped(contents: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(contents: dict[str, str | bytes], mode: str = "w:gz", form: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in contents.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def found_in(content: bytes, name: str) -> list[ParsedResult | Unread]:
    return list(read_stream(io.BytesIO(content), name))


def sources(content: bytes, name: str) -> list[str]:
    return [each.source for each in found_in(content, name) if isinstance(each, ParsedResult)]


LOGS: dict[str, str | bytes] = {"a/bert.log": BERT, "b/resnet.log": RESNET}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("logs.zip", zipped(LOGS)),
        ("logs.zip", zipped(LOGS, zipfile.ZIP_STORED)),
        ("logs.tar", tarred(LOGS, "w")),
        ("logs.tar.gz", tarred(LOGS)),
        ("logs.tgz", tarred(LOGS)),
    ],
)
def test_the_logs_in_an_archive_are_found(name: str, content: bytes) -> None:
    assert sources(content, name) == [f"{name}!a/bert.log", f"{name}!b/resnet.log"]


def test_a_compressed_log_is_a_log() -> None:
    assert sources(gzip.compress(BERT.encode()), "bert.log.gz") == ["bert.log.gz"]


def test_a_result_folder_in_an_archive_is_one_result() -> None:
    files: dict[str, str | bytes] = {f"out/{name}": content for name, content in cluster().items()}

    assert sources(tarred(files), "obs.tar.gz") == ["obs.tar.gz!out"]
    assert sources(zipped({**cluster()}), "obs.zip") == ["obs.zip"]


def test_archives_in_archives_are_opened_up_to_a_point() -> None:
    inner = tarred({"bert.log": BERT})
    outer = inner
    for _ in range(5):
        outer = zipped({"in.zip": outer})

    assert sources(zipped({"in.tar.gz": inner}), "out.zip") == ["out.zip!in.tar.gz!bert.log"]
    assert [each.reason for each in found_in(outer, "out.zip") if isinstance(each, Unread)] == [
        "it is nested in too many archives: unpack the outer ones"
    ]


def test_names_from_a_chinese_windows_are_readable() -> None:
    content = zipped({"xxxx.log": BERT})  # what such a packer writes: GBK bytes, and no word about it

    assert sources(content.replace(b"xxxx", "日志".encode("gbk")), "a.zip") == ["a.zip!日志.log"]


def with_surrogates(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_in_a_tar_from_a_chinese_system_are_readable(form: int) -> None:
    folder = with_surrogates("测试结果/日志".encode("gbk"))
    content = tarred({f"{folder}.log": BERT, "结果.log": RESNET}, "w", form)

    assert sources(content, "a.tar") == ["a.tar!测试结果/日志.log", "a.tar!结果.log"]


def test_names_in_no_known_encoding_are_escaped_and_stay_distinct() -> None:
    content = tarred({with_surrogates(b"a\xff.log"): BERT, with_surrogates(b"a\xfe/b.log"): RESNET}, "w")

    assert sources(content, "a.tar") == ["a.tar!a%FF.log", "a.tar!a%FE/b.log"]


def test_a_file_whose_name_differs_inside_a_zip_does_not_hide_its_neighbours() -> None:
    content = zipped({"one.log": BERT, "two.log": RESNET}).replace(b"one.log", b"eno.log", 1)  # the copy at the file

    assert sources(content, "a.zip") == ["a.zip!two.log"]
    assert [each.source for each in found_in(content, "a.zip") if isinstance(each, Unread)] == ["a.zip!one.log"]


def test_a_zip_that_is_wrong_about_its_names_is_named_with_what_to_do() -> None:
    content = zipped({"日志.log": BERT}).replace("日志.log".encode(), b"\xc8\xd5\xd6\xbe_\x81.log")

    assert [each.reason for each in found_in(content, "a.zip") if isinstance(each, Unread)] == [
        "it says that its file names are UTF-8, and they are not: pack it again"
    ]


def test_nothing_of_an_archive_lands_on_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "evil.tar"
    file.write_bytes(tarred({"../../evil.log": BERT, "/etc/evil.log": BERT}, "w"))

    found = [each.source for each in read_path(file)]

    assert found == ["evil.tar!../../evil.log", "evil.tar!etc/evil.log"]
    assert [each.name for each in tmp_path.iterdir()] == ["evil.tar"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.zip", zipped(LOGS)[:-40], "it cannot be read: File is not a zip file"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + b"\0" * 99, "it is a 7z archive: pack it as .zip or .tar.gz"),
        ("a.rar", b"Rar!\x1a\x07" + b"\0" * 99, "it is a RAR archive: pack it as .zip or .tar.gz"),
        ("a.xls", b"\xd0\xcf\x11\xe0" + b"\0" * 99, "it is a workbook of Excel 97 to 2003: save it as .xlsx or as CSV"),
        ("ais-bench-stubs", b"\x7fELF" + b"train_result_info: %s", "it is a program"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(name: str, content: bytes, reason: str) -> None:
    assert found_in(content, name) == [Unread(name, make_verbatim(reason))]


def test_what_comes_before_the_damage_is_kept() -> None:
    content = tarred({**LOGS, "c.log": random.Random(7).randbytes(200_000), "d.log": BERT})

    found = found_in(content[:150_000], "a.tar.gz")

    assert sources(content[:150_000], "a.tar.gz") == ["a.tar.gz!a/bert.log", "a.tar.gz!b/resnet.log"]
    assert isinstance(found[-1], Unread)


def test_one_file_that_is_damaged_does_not_hide_its_neighbours() -> None:
    content = bytearray(zipped({"a.log": b"\0" * 5000 + BERT.encode(), "b.log": RESNET}))
    content[60:70] = b"\xff" * 10

    found = found_in(bytes(content), "a.zip")

    assert [each.source for each in found] == ["a.zip!a.log", "a.zip!b.log"]
    assert isinstance(found[0], Unread)
    assert isinstance(found[1], ParsedResult)


def test_an_encrypted_file_is_told() -> None:
    content = bytearray(zipped({"a.log": BERT}))
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1

    (unread,) = found_in(bytes(content), "a.zip")

    assert unread == Unread(
        "a.zip!a.log", make_verbatim("it is encrypted, or compressed in an uncommon way: pack it without")
    )


def test_a_bomb_ends_at_the_limit_and_in_little_memory() -> None:
    content = zipped({f"{number}.log": b"\0" * (6 * 1024**2) for number in range(4)})
    tracemalloc.start()

    found = []
    for file in unpack_open_file(io.BytesIO(content), "bomb.zip", is_wanted, UnpackingBudget(bytes_left=9 * 1024**2)):
        found.append(file)
        with pytest.raises(TooMuchError) if len(found) == 2 else nullcontext():
            while isinstance(file, Opened) and file.read(1024**2):
                pass

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [each.source for each in found if isinstance(each, Unread)] == ["bomb.zip"]
    assert (len(found), len(content) < 200_000) == (3, True)
    assert peak < 5 * 1024**2


def test_so_many_files_that_nobody_has_are_not_looked_through() -> None:
    content = zipped({f"{number}.py": b"" for number in range(30)})

    found = list(unpack_open_file(io.BytesIO(content), "many.zip", is_wanted, UnpackingBudget(files_left=20)))

    assert len(found) == 21
    assert found[-1] == Unread("many.zip", make_verbatim("it contains more than 200,000 files"))


def test_a_note_in_a_tar_that_is_a_bomb_is_not_read() -> None:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = tarfile.XHDTYPE, 1024**3

    (unread,) = found_in(entry.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 4096, "a.tar")

    assert unread == Unread("a.tar", make_verbatim("it contains a name or comment that is too long"))


def test_a_stream_that_cannot_seek_is_enough() -> None:
    class Socket(io.RawIOBase):
        def __init__(self, content: bytes) -> None:
            self._content = io.BytesIO(content)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
            return self._content.readinto(buffer[:1000])

    def opened_stream() -> io.BufferedReader:
        return io.BufferedReader(Socket(zipped(LOGS)))

    found = list(read_files([InputFile("logs.zip", None, opened_stream)], "bucket"))

    assert [each.source for each in found] == ["logs.zip!a/bert.log", "logs.zip!b/resnet.log"]


def test_an_upload_stays_open() -> None:
    file = io.BytesIO(zipped(LOGS))

    list(read_stream(file, "logs.zip"))

    assert not file.closed


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "it is a symbolic link, which is not followed"),
        (tarfile.LNKTYPE, "it is a link to another file in the archive, which is not followed"),
        (tarfile.FIFOTYPE, "it is not a file"),
    ],
)
def test_links_in_a_tar_are_named_and_not_followed(kind: bytes, reason: str) -> None:
    file = io.BytesIO(tarred({"run.log": BERT}, "w"))
    with tarfile.open(fileobj=file, mode="a") as archive:
        entry = tarfile.TarInfo("other.log")
        entry.type, entry.linkname = kind, "run.log"
        archive.addfile(entry)

    found, unread = found_in(file.getvalue(), "a.tar")

    assert found.source == "a.tar!run.log"
    assert unread == Unread("a.tar!other.log", make_verbatim(reason))


def test_links_in_a_zip_are_named_and_not_taken_for_files() -> None:
    file = io.BytesIO(zipped({"run.log": BERT}))
    with zipfile.ZipFile(file, "a") as archive:
        entry = zipfile.ZipInfo("other.log")
        entry.create_system, entry.external_attr = 3, 0o120777 << 16
        archive.writestr(entry, "run.log")

    found, unread = found_in(file.getvalue(), "a.zip")

    assert found.source == "a.zip!run.log"
    assert unread == Unread("a.zip!other.log", make_verbatim("it is a symbolic link, which is not followed"))
