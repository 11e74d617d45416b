"""Archives and folders that mean harm, or are broken: refused with a sentence, and nothing of them stays."""

import gzip
import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.base.errors import ConfigError
from aisbench_core.exchange.upstream.packages.entries import MOST_LEVELS, PackageLimits
from tests.package_door import SOURCE, left_behind, opener, unpacked
from tests.upstream_package import files, member, packed

CODE = "./code/code"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file that no package may touch."""
    file = tmp_path / "outside.txt"
    file.write_text("mine")
    yield file
    assert file.read_text() == "mine"


def deep(levels: int) -> str:
    return "/".join([CODE, *["d"] * levels, "x.py"])


HOSTILE: dict[str, tuple[list[tuple[tarfile.TarInfo, bytes]], str]] = {
    "an absolute path": ([(member("/code/code/x.py"), b"")], "'/code/code/x.py' is an absolute path"),
    "a path of Windows": ([(member("C:/code/code/x.py"), b"")], "is an absolute path"),
    "a path upwards": ([(member(f"{CODE}/../../../outside.txt"), b"x")], "points outside the package"),
    "a path upwards elsewhere": ([(member("../outside.txt"), b"x")], "points outside the package"),
    "a backslash": ([(member(f"{CODE}/..\\..\\x.py"), b"")], "has a backslash"),
    "a control character": ([(member(f"{CODE}/\x1b]0;x\x07.py"), b"")], "control character"),
    "a name that reads backwards": ([(member(f"{CODE}/\u202eyp.x"), b"")], "control character"),
    "a symbolic link": ([(member(f"{CODE}/x", tarfile.SYMTYPE, "/etc/passwd"), b"")], "'./code/code/x' is a link"),
    "a link for a directory": (
        [(member(f"{CODE}/d", tarfile.SYMTYPE, "../../.."), b""), (member(f"{CODE}/d/outside.txt"), b"x")],
        "'./code/code/d' is a link",
    ),
    "a hard link": ([(member(f"{CODE}/x", tarfile.LNKTYPE, "outside.txt"), b"")], "is a link"),
    "a link that is not code": ([(member("./log", tarfile.SYMTYPE, "/"), b"")], "is a link"),
    "a device": ([(member(f"{CODE}/x", tarfile.CHRTYPE), b"")], "is neither a file nor a directory"),
    "a disk": ([(member(f"{CODE}/x", tarfile.BLKTYPE), b"")], "is neither a file nor a directory"),
    "a pipe": ([(member(f"{CODE}/x", tarfile.FIFOTYPE), b"")], "is neither a file nor a directory"),
    "the same file twice": ([(member(f"{CODE}/train.py"), b"other")], "'train.py' occurs twice"),
    "the same configuration twice": ([(member("./code/config/modelarts_config.py"), b"")], "occurs twice"),
    "upper and lower case": ([(member(f"{CODE}/Train.py"), b"")], "'Train.py' and 'train.py' differ only in upper"),
    "upper and lower case of a directory": (
        [(member(f"{CODE}/SRC/x.py"), b"")],
        "'SRC' and 'src' differ only in upper",
    ),
    "two ways to write one letter": (
        [(member(f"{CODE}/\u00e9.py"), b""), (member(f"{CODE}/e\u0301.py"), b"")],
        "differ only in upper and lower case",
    ),
    "a file that is a directory": ([(member(f"{CODE}/train.py/x.py"), b"")], "'train.py' occurs twice"),
    "a directory that is a file": ([(member(f"{CODE}/src"), b"")], "'src' occurs twice"),
    "code that is a file": ([(member("./code/code"), b"")], "must be a directory"),
    "many levels": ([(member(deep(MOST_LEVELS)), b"")], f"deeper than {MOST_LEVELS} levels"),
    "a long name": ([(member(f"{CODE}/{'x' * 256}.py"), b"")], "a name that is too long"),
    "long names": ([(member("/".join([CODE, *["x" * 200] * 5])), b"")], "a name that is too long"),
    "two packages": ([(member("other/code/code/x.py"), b"")], "two packages, '' and 'other'"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_archive_is_refused_that_has(tmp_path: Path, outside: Path, what: str) -> None:
    members, sentence = HOSTILE[what]

    with pytest.raises(ConfigError, match=re.escape(sentence)) as caught:
        unpacked(tmp_path / "data", packed(files(), *members))

    assert SOURCE in caught.value.message
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert left_behind(tmp_path / "data") == []
    assert sorted(tmp_path.iterdir()) == [tmp_path / "data", outside]


@pytest.mark.parametrize(
    ("limits", "contents", "sentence"),
    [
        (PackageLimits(entries=7), files(), "more than 7 entries"),
        (PackageLimits(file_bytes=2000), files(big="x" * 2001), "has 2,001 bytes; allowed: 2,000"),
        (PackageLimits(total_bytes=30_000), files(big="x" * 20_000, other="y" * 20_000), "more than 30,000 bytes"),
        (PackageLimits(free_bytes=100_000), files(bomb="\0" * 4_000_000), "more than 200 times its size"),
        (
            PackageLimits(free_bytes=100_000),
            {"not_code/x": b"\0" * 4_000_000, **files()},
            "more than 200 times its size",
        ),
    ],
    ids=["entries", "one file", "all files", "ratio", "ratio of what is not code"],
)
def test_an_archive_that_would_fill_the_disk_is_refused(
    tmp_path: Path, limits: PackageLimits, contents: dict[str, bytes], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        unpacked(tmp_path, packed(contents), limits)

    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    header = member("x", kind)
    header.size = 8 * 1024**3
    content = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + b"\0" * 512)

    with pytest.raises(ConfigError, match=r"has a header of 8,589,934,592 bytes"):
        unpacked(tmp_path, content)


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    sparse = member(f"{CODE}/x", tarfile.GNUTYPE_SPARSE)

    with pytest.raises(ConfigError, match="neither a file nor a directory"):
        unpacked(tmp_path, packed(files(), (sparse, b"")))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 a zip",
        gzip.compress(b"no tar at all" * 100),
        packed(files())[:-20],
        packed(files())[:200],
        packed(files())[:-8] + b"\0" * 8,
    ],
    ids=["nothing", "zip", "no tar", "cut off at its end", "cut off", "wrong checksum"],
)
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ConfigError, match=r"not a readable \.tar\.gz archive, or it is truncated") as caught:
        unpacked(tmp_path, content)

    assert "download it again" in caught.value.hint
    assert left_behind(tmp_path) == []


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    plain = gzip.decompress(packed(files(big="x" * 100_000)))
    start = plain.index(b"x" * 1000)

    with pytest.raises(ConfigError, match="truncated"):
        unpacked(tmp_path, gzip.compress(plain[: start + 5000]))

    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("contents", [{}, {"README.md": b""}, {"code/config/config.sh": b""}])
def test_an_archive_without_code_is_no_package(tmp_path: Path, contents: dict[str, bytes]) -> None:
    with pytest.raises(ConfigError, match="code/code contains no files"):
        unpacked(tmp_path, packed(contents))

    assert left_behind(tmp_path) == []


def test_names_in_gbk_are_written_in_utf_8_and_said(tmp_path: Path) -> None:
    name = "数据.txt".encode("gbk").decode("utf-8", "surrogateescape")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.GNU_FORMAT, errors="surrogateescape") as archive:
        for each in (member("code/code/train.py"), member(f"code/code/{name}")):
            archive.addfile(each, io.BytesIO())

    package = unpacked(tmp_path, out.getvalue())

    assert (package.code / "数据.txt").is_file()
    (found,) = [each for each in package.findings if each.rule == "package.encoding"]
    assert "1 file name was in GBK: 'code/code/数据.txt'" in found.message


def test_a_name_that_is_neither_utf_8_nor_gbk_is_refused(tmp_path: Path) -> None:
    name = b"\xff\xff.txt".decode("utf-8", "surrogateescape")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.GNU_FORMAT, errors="surrogateescape") as archive:
        archive.addfile(member(f"code/code/{name}"), io.BytesIO())

    with pytest.raises(ConfigError, match=r"a name that is neither UTF-8 nor GBK"):
        unpacked(tmp_path, out.getvalue())


def test_what_tools_and_people_leave_in_code_is_not_taken(tmp_path: Path) -> None:
    left = {".git/config": "x", "__pycache__/a.pyc": "x", "src/credentials.yaml": "secret"}

    package = unpacked(tmp_path, packed(files(**left)))

    kept = {str(each.relative_to(package.code)) for each in package.code.rglob("*") if each.is_file()}
    assert kept == {"train.py", "src/net.py", "ma-pre-start.sh"}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_archive_is_read_or_refused_and_never_a_bug(tmp_path: Path, data: st.DataObject) -> None:
    plain = bytearray(gzip.decompress(packed(files())))
    for _ in range(data.draw(st.integers(1, 8))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    door = opener(tmp_path)

    try:
        package = door.unpack(SOURCE, io.BytesIO(gzip.compress(bytes(plain), 1)))
    except ConfigError:
        assert left_behind(tmp_path) == []
        return

    inside = {each.resolve() for each in package.code.rglob("*")}
    assert all(each.is_relative_to(package.folder.resolve()) for each in inside)
    door.drop(package)
    assert left_behind(tmp_path) == []
