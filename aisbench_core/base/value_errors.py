"""pydantic's validation errors as Messages."""

from collections.abc import Callable, Mapping

from pydantic_core import ErrorDetails, PydanticCustomError

from aisbench_core.base.messages import Message, choose_plural, make_verbatim, message_of


def make_refusal(sentence: Message) -> PydanticCustomError:
    """What a validator of ours raises."""
    return PydanticCustomError("ours", "{text}", {"text": sentence})


def value_error(error: ErrorDetails) -> Message:
    """What one of the errors of a ValidationError says, beginning with a small letter."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _WITH_VALUES:
        return _WITH_VALUES[kind](**context)
    return make_verbatim(error["msg"][:1].lower() + error["msg"][1:])


# By pydantic's own names.
_PLAIN: Mapping[str, Message] = {
    "missing": Message("field required"),
    "string_type": Message("input should be a valid string"),
    "float_type": Message("input should be a valid number"),
    "float_parsing": Message("input should be a valid number, unable to parse string as a number"),
    "finite_number": Message("input should be a finite number"),
    "int_type": Message("input should be a valid integer"),
    "int_parsing": Message("input should be a valid integer, unable to parse string as an integer"),
    "int_parsing_size": Message("unable to parse input string as an integer, exceeded maximum size"),
    "int_from_float": Message("input should be a valid integer, got a number with a fractional part"),
    "bool_type": Message("input should be a valid boolean"),
    "bool_parsing": Message("input should be a valid boolean, unable to interpret input"),
    "dict_type": Message("input should be a valid dictionary"),
    "list_type": Message("input should be a valid list"),
    "tuple_type": Message("input should be a valid tuple"),
}

_COLLECTIONS: Mapping[str, Message] = {
    "Dictionary": Message("dictionary"),
    "List": Message("list"),
    "Tuple": Message("tuple"),
}


def _to_number(value: object) -> object:
    """As pydantic writes it: 1.0 is 1."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _too_short(field_type: str, min_length: int, actual_length: int) -> Message:
    return choose_plural(
        min_length,
        "{collection} should have at least {number} item after validation, not {actual}",
        "{collection} should have at least {number} items after validation, not {actual}",
        collection=_COLLECTIONS.get(field_type, field_type.lower()),
        actual=actual_length,
    )


_WITH_VALUES: Mapping[str, Callable[..., Message]] = {
    "ours": message_of,
    "value_error": lambda error: Message("value error, {error}", error=message_of(error.args[0] if error.args else "")),
    "greater_than_equal": lambda ge: Message("input should be greater than or equal to {limit}", limit=_to_number(ge)),
    "greater_than": lambda gt: Message("input should be greater than {limit}", limit=_to_number(gt)),
    "less_than_equal": lambda le: Message("input should be less than or equal to {limit}", limit=_to_number(le)),
    "less_than": lambda lt: Message("input should be less than {limit}", limit=_to_number(lt)),
    "enum": lambda expected: Message("input should be {expected}", expected=expected),
    "literal_error": lambda expected: Message("input should be {expected}", expected=expected),
    "string_pattern_mismatch": lambda pattern: Message("string should match pattern '{pattern}'", pattern=pattern),
    "string_too_short": lambda min_length: choose_plural(
        min_length, "string should have at least {number} character", "string should have at least {number} characters"
    ),
    "string_too_long": lambda max_length: choose_plural(
        max_length, "string should have at most {number} character", "string should have at most {number} characters"
    ),
    "too_short": _too_short,
}
