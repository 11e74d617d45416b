"""Pieces of published files: how many there are, how often a byte is sent, and what the names of objects say."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.store.run_folders.cache import is_plain
from aisbench_core.store.run_folders.pieces import (
    PIECE_BYTES,
    Piece,
    PublishedFile,
    files_of,
    iter_spans,
    list_unchanged,
    shared_start,
    stale_objects,
)

MD5 = "0" * 32
LOG = "logs/worker-0.log"


def grown(file: PublishedFile, size: int, same: int | None = None) -> PublishedFile:
    """The next version, of which the first `same` pieces (without a number: all that fit) hold the same as before."""
    inside = [piece for piece in file.pieces if piece.end <= size][:same]
    stay = list_unchanged(inside, size)
    start = stay[-1].end if stay else 0
    new = [Piece(file.version + 1, offset, length, MD5) for offset, length in iter_spans(start, size)]
    return PublishedFile(file.run_id, file.name, file.version + 1, (*stay, *new))


EMPTY = PublishedFile("r-1", LOG, 0, ())


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=200))
def test_a_file_that_grows_has_few_pieces_and_sends_each_byte_a_few_times(additions: list[int]) -> None:
    file, sent = EMPTY, 0
    for size in accumulate(additions):
        file = grown(file, size)
        sent += sum(piece.size for piece in file.pieces if piece.version == file.version)

    digits = file.size.bit_length()
    assert len(file.pieces) <= digits
    assert sent <= file.size * digits


def test_a_gigabyte_has_pieces_of_a_bounded_size_of_which_the_last_are_sent_again() -> None:
    file = grown(EMPTY, 2**30)
    more = grown(file, 2**30 + 100)

    assert max(piece.size for piece in file.pieces) == PIECE_BYTES
    assert [piece.size for piece in more.pieces if piece.version == 2] == [100]
    assert more.pieces[:-1] == file.pieces


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_names_of_objects_say_what_the_newest_version_is(changes: list[tuple[int, int]]) -> None:
    file, objects = EMPTY, set[str]()
    for size, same in changes:  # also shorter, and begun anew
        file = grown(file, size, same)
        objects |= file.objects  # killed writers delete nothing

    assert files_of("r-1", objects) == [file]
    assert set(stale_objects([file], objects)) == objects - file.objects


def test_a_file_without_one_of_its_pieces_is_not_found() -> None:
    file = grown(grown(EMPTY, 1000), 1010)
    first = file.pieces[0].object_name(LOG)

    assert files_of("r-1", file.objects - {first}) == []


def test_objects_of_a_writer_that_is_about_to_store_them_are_not_stale() -> None:
    file = grown(EMPTY, 10)

    assert stale_objects([file], [*file.objects, *grown(file, 12).objects, "foreign"]) == []


def test_two_versions_share_the_pieces_that_both_have() -> None:
    file = grown(grown(EMPTY, 1000), 1010)

    assert shared_start(file.pieces, grown(file, 1012).pieces) == 1010
    assert shared_start(file.pieces, grown(file, 1012, same=0).pieces) == 0


@pytest.mark.parametrize("name", ["../x", "a/../b", "/etc/passwd", "", "a//b", "a\nb"])
def test_no_name_in_the_ledger_leads_out_of_a_folder(name: str) -> None:
    assert not is_plain(name)
    assert is_plain(LOG)
