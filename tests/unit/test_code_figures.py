"""The code base gets no worse: names with two meanings, folders without an order."""

from tests import code_figures

MOST_MODULES = 25
MOST_CLASSES_WITH_TWO_MEANINGS = 0


def test_a_class_name_means_one_class() -> None:
    assert len(code_figures.classes_with_two_meanings()) <= MOST_CLASSES_WITH_TWO_MEANINGS


def test_a_public_function_of_pages_has_a_name_of_its_own() -> None:
    assert code_figures.page_functions_with_two_meanings() == {}


def test_no_folder_is_too_large_to_look_over() -> None:
    too_large = {
        folder: modules for folder, modules in code_figures.modules_by_folder().items() if modules > MOST_MODULES
    }

    assert too_large == {}
