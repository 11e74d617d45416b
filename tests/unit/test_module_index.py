"""Every module says what it is, in words that fit a row of the index that `make docs` writes."""

import re

from tests.module_index import document, summary_of
from tests.source_tree import HOME, path_of, product

ARCHITECTURE = HOME / "ARCHITECTURE.md"
MOST_WORDS = 1_500
MOST_WORDS_OF_A_ROW = 35


def test_every_module_says_what_it_is() -> None:
    summaries = {path_of(file): summary_of(file) for file in product() if file.name != "__init__.py"}

    assert [name for name, summary in summaries.items() if not summary.endswith(".")] == []
    assert [name for name, summary in summaries.items() if len(summary.split()) > MOST_WORDS_OF_A_ROW] == []


def test_the_index_has_a_row_for_every_module() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| .+ \|$", document(), re.M)

    assert sorted(rows) == sorted(file.name for file in product() if file.name != "__init__.py")


def test_the_architecture_can_be_read_at_one_sitting() -> None:
    assert len(re.findall(r"[\w’'-]+", ARCHITECTURE.read_text("utf-8"))) <= MOST_WORDS


def test_every_module_that_the_architecture_names_is_there() -> None:
    """Most with their path, which tests of documents look up, too; some only with the folder named before."""
    names = {"modelarts_config.py", *(file.name for file in product())}  # the first one is upstream's

    assert set(re.findall(r"`(\w+\.py)`", ARCHITECTURE.read_text("utf-8"))) - names == set()
