"""The part of a matrix that `make test` runs."""

import itertools

from tests.pairs import every_pair


def test_every_pair_of_values_is_in_the_part_and_every_combination_in_the_whole() -> None:
    axes = (range(13), ("wide", "narrow", "phone"), ("dark", "light"))

    cases = every_pair(*axes)

    part = [case.values for case in cases if not case.marks]
    assert [case.values for case in cases] == list(itertools.product(*axes))
    for one, other in itertools.combinations(range(3), 2):
        assert {(values[one], values[other]) for values in part} == set(itertools.product(axes[one], axes[other]))
    assert len(part) <= 45


def test_the_part_of_a_single_axis_is_all_of_it() -> None:
    assert not [case for case in every_pair("abc") if case.marks]


def test_the_part_is_the_same_each_time() -> None:
    axes = ("abcd", "xyz", "12")

    assert every_pair(*axes) == every_pair(*axes)
