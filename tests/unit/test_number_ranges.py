"""Numbers that people type: read as they stand, or refused with what is allowed."""

from typing import Annotated, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from aisbench_core.base.messages import in_chinese
from aisbench_core.domain.authoring.number_ranges import InvalidNumber, NumberRange, range_of
from aisbench_core.domain.authoring.specfile import NUMBERS, read_written
from aisbench_core.model import Budget, ParameterSearch, RunSpec, SeriesPlan
from aisbench_core.model.schedule import Timing

NODES, HOURS = NumberRange(1, 4096, is_whole=True), NumberRange(least=0)


@pytest.mark.parametrize(
    ("text", "allowed", "number"),
    [(" 7 ", NODES, 7), ("2e3", NODES, 2000), ("4.0", NODES, 4), ("1", HOURS, 1), ("0.25", HOURS, 0.25)],
)
def test_a_number_is_read_as_it_is_typed(text: str, allowed: NumberRange, number: float) -> None:
    assert allowed.read(text) == number
    assert isinstance(allowed.read(text), int) or not allowed.is_whole


@pytest.mark.parametrize(
    "text", ["", "0", "4097", "99999", "2.5", "nan", "inf", "1e400", "four", "1,000", "1_000", "9" * 400, "9" * 5000]
)
def test_another_text_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InvalidNumber, match=r"is not allowed; enter a whole number, 1 to 4096$") as error:
        NODES.read(text)
    assert in_chinese(error.value.message).endswith("请输入整数（1 至 4096）")


@pytest.mark.parametrize("text", ["9" * 309, "-" + "9" * 400, "1_000", "1_0.5", "9" * 5000])
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_number_beyond_all_floats_or_with_underscores_is_refused_without_limits_too(
    text: str, is_whole: bool
) -> None:
    with pytest.raises(InvalidNumber, match=r"is not allowed; enter a (whole )?number$"):
        NumberRange(is_whole=is_whole).read(text)


@pytest.mark.parametrize(
    ("field", "refused", "taken", "allowed"),
    [
        (Field(gt=0, le=720), ("0", "721", "-1"), ("0.001", "720"), "enter a number greater than 0 and at most 720"),
        (Field(ge=1, lt=2), ("0.5", "2"), ("1", "1.99"), "enter a number at least 1 and less than 2"),
        (Field(gt=0), ("0", "-1"), ("1e-9", "1e9"), "enter a number greater than 0"),
        (Field(lt=5), ("5",), ("-7", "4.9"), "enter a number less than 5"),
        (Field(ge=0), ("-1",), ("0",), "enter a number, at least 0"),
    ],
)
def test_a_limit_that_a_models_field_excludes_is_refused_and_said(
    field: FieldInfo, refused: tuple[str, ...], taken: tuple[str, ...], allowed: str
) -> None:
    found = range_of(field)

    assert [found.problem(text) for text in taken] == ["" for _ in taken]
    for text in refused:
        assert found.problem(text) == f"'{text}' is not allowed; {allowed}"


@pytest.mark.parametrize("model", [SeriesPlan, ParameterSearch, Timing, Budget, RunSpec])
@given(number=st.one_of(st.integers(-3, 10**6), st.floats(-3, 1e6).map(lambda number: round(number, 3))))
def test_a_field_takes_exactly_the_numbers_that_its_model_takes(model: type[BaseModel], number: float) -> None:
    """What a page refuses, its service would refuse; what it takes, is taken."""
    for name, field in model.model_fields.items():
        if not {int, float} & {field.annotation, *get_args(field.annotation)}:
            continue
        is_whole = float not in (field.annotation, *get_args(field.annotation))
        values: TypeAdapter[object] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]  # not static
        try:
            values.validate_python(number)
        except ValidationError:
            is_valid = False
        else:
            is_valid = True
        assert (range_of(field, is_whole=is_whole).problem(str(number)) == "") == is_valid, (name, number)


@given(st.text())
def test_no_text_is_a_surprise(text: str) -> None:
    assert NODES.problem(text) or 1 <= NODES.read(text) <= 4096


@given(
    st.dictionaries(st.sampled_from([*NUMBERS]), st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
)
def test_a_draft_keeps_the_numbers_that_its_spec_does_not_take(typed: dict[str, str]) -> None:
    refused = {field: text.strip() for field, text in typed.items() if NUMBERS[field].problem(text)}
    written = read_written("workload: quickstart_digits\n")

    stored = type(written)(written.spec, refused).to_yaml()

    assert read_written(stored).refused == refused
    assert read_written(stored).spec == written.spec


@pytest.mark.parametrize(
    ("allowed", "symbols"),
    [
        (NumberRange(1, 4096, is_whole=True), "1–4096"),
        (NumberRange(0.5), "≥ 0.5"),
        (NumberRange(most=1e7), "≤ 10000000"),
        (NumberRange(0, 1, without_least=True), "> 0, ≤ 1"),
        (NumberRange(), ""),
    ],
)
def test_limits_stand_beside_a_field_without_words(allowed: NumberRange, symbols: str) -> None:
    assert allowed.symbols == symbols
