"""Names of flavors: their cards as far as a name states them, and never a guess."""

import pytest

from aisbench_core.config.flavor_names import accelerator_in_name, asks_for_cards, cards_in_name, list_forms

EXAMPLES = [(name, cards, form.accelerator) for form in list_forms() for name, cards in form.examples.items()]


@pytest.mark.parametrize(("name", "cards", "accelerator"), EXAMPLES)
def test_each_form_reads_its_examples(name: str, cards: int | None, accelerator: str) -> None:
    assert (cards_in_name(name) or None, accelerator_in_name(name)) == (cards, accelerator)
    assert asks_for_cards(name) is (cards is None and accelerator != "CPU")


@pytest.mark.parametrize("name", ["", "kat1.8xlarge", "modelarts.kat1.8xlarge.x", "lab.8", "x" * 100_000])
def test_a_name_that_states_no_cards_has_none(name: str) -> None:
    assert cards_in_name(name) == 0
