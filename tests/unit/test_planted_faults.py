"""The faults that `make planted-faults` plants can be planted."""

import ast

import pytest

from tests.planted_faults.__main__ import Fault, faults


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.about)
def test_a_fault_changes_one_place_and_leaves_python(fault: Fault) -> None:
    text = fault.file.read_text("utf-8")

    assert text.count(fault.before) == 1, f"{fault.path} has changed: plant it elsewhere in faults.yaml"
    if fault.file.suffix == ".py":
        ast.parse(text.replace(fault.before, fault.after))


def test_there_are_enough_faults_and_each_is_another() -> None:
    assert len({(fault.path, fault.before) for fault in faults()}) == len(faults()) >= 40
