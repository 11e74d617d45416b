"""What results to import are is said in one sentence, and each cause once, however many results it concerns."""

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.base.messages import in_chinese
from aisbench_core.config.settings import Settings
from aisbench_core.exchange.importing.choices import Choices, ImportAnswers
from aisbench_core.exchange.importing.understanding import Understanding, understand_results
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.old_tables import write_table

NOW = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
MANY = 24
DEFINITION = "warmup_epoch_excluded"


@pytest.fixture
def core(tmp_path: Path) -> Core:
    return open_core(Settings(data_dir=tmp_path), clock=lambda: NOW)


def read(core: Core, table: str) -> list[ParsedResult]:
    found = core.imports.read_uploads([("old.csv", BytesIO(table.encode()))], {})
    return [result for result in found if isinstance(result, ParsedResult)]


def understand(core: Core, table: str, **answers: str) -> Understanding:
    results = read(core, table)
    choices = Choices(about_all=ImportAnswers(**answers))  # type: ignore[arg-type]  # texts only
    return understand_results(core.imports.preview(results, choices, TESTER), len(results))


def test_a_missing_definition_is_one_cause_of_many_results_and_says_what_mends_it(core: Core) -> None:
    found = understand(core, write_table(MANY))

    assert found.contents == "24 results: 3 models, 4 versions, 2 flavors"
    assert found.outcome == "0 usable"
    [(cause, count)] = found.causes
    assert (cause.sentence, count) == ("throughput definition missing", MANY)
    assert found.mended_by[0] == "throughput_definition"
    assert in_chinese(found.contents) == "24 条结果：3 个模型、4 个版本、2 种规格"


def test_one_answer_about_all_of_them_mends_all_of_them(core: Core) -> None:
    found = understand(core, write_table(MANY), throughput_definition=DEFINITION)

    assert (found.outcome, found.causes, found.counting) == ("all usable", (), MANY)


def test_results_that_are_here_already_say_only_that(core: Core) -> None:
    core.imports.save(read(core, write_table(3)), Choices(), TESTER)

    found = understand(core, write_table(4))

    assert [(cause.sentence, count) for cause, count in found.causes] == [
        ("already stored", 3),
        ("throughput definition missing", 1),
    ]


def test_an_unknown_unit_is_said_once_with_the_answer_that_mends_it(core: Core) -> None:
    table = write_table(5).replace("(samples/s)", "(TFLOPS)")

    found = understand(core, table, throughput_definition=DEFINITION)

    [(cause, count)] = found.causes
    assert ("'TFLOPS' is not known" in cause.sentence, count, cause.mended_by) == (True, 5, ("unit",))
    assert understand(core, table, throughput_definition=DEFINITION, unit="TFLOPS").outcome == "all usable"


def test_of_more_results_than_were_looked_at_the_sentence_says_of_how_many(core: Core) -> None:
    results, choices = read(core, write_table(4)), Choices(about_all=ImportAnswers(throughput_definition=DEFINITION))

    found = understand_results(core.imports.preview(results[:3], choices, TESTER), len(results))

    assert found.contents.startswith("4 results")
    assert found.outcome == "3 of the first 3 usable"
