"""What a lab states in a report of its own: a form, as YAML or on the page, that says which field is wrong."""

from dataclasses import replace
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from aisbench_core.base.documents import parse_document, parse_yaml
from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.domain.preflight.rules.secrets import is_likely_secret
from aisbench_core.domain.statistics.uncertainty import DecisionRule
from aisbench_core.exchange.report.disclosure import read_disclosure
from aisbench_core.model import Frozen

MOST_LETTERS = 400
MOST_ENTRIES = 60


def _require_plain(text: str) -> str:
    text = " ".join(text.split())
    if not text.isprintable():
        raise make_refusal(Message("must have no control characters"))
    if any(is_likely_secret("", word) for word in text.split(" ")):
        raise make_refusal(Message("looks like a key or a password; everybody reads a report"))
    return text


Line = Annotated[str, Field(max_length=MOST_LETTERS), AfterValidator(_require_plain)]
Named = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS), AfterValidator(_require_plain)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Quantity(StrEnum):
    """What can have a limit, by its column of the export."""

    THROUGHPUT = "throughput_cluster"
    PER_NODE = "throughput_per_node"
    PER_CARD = "throughput_per_card"
    ACCURACY = "accuracy"


class Requirement(Frozen):
    """A lower limit that the customer or the method sets."""

    quantity: Annotated[Quantity, Field(description="what has to reach it")]
    at_least: Annotated[Positive, Field(description="the limit, in the quantity's unit; 0.759 is 75.9 %")]
    model: Annotated[Line, Field(description="only of this model")] = ""
    nodes: Annotated[int | None, Field(ge=1, le=100_000, description="only on so many nodes")] = None


class LabDetails(Frozen):
    """What only the lab knows. An empty field is reported as not stated."""

    laboratory_name: Annotated[Named, Field(description="who is responsible for the report")]
    laboratory_address: Annotated[Named, Field(description="where to write to it")]
    place_of_test: Annotated[Line, Field(description="where the systems stood, if elsewhere")] = ""
    customer_name: Annotated[Line, Field(description="who asked for the test")] = ""
    customer_contact: Annotated[Line, Field(description="a person, a telephone or an address there")] = ""
    item: Annotated[Line, Field(description="what was tested; default: from the system description")] = ""
    item_ids: Annotated[
        tuple[Named, ...], Field(max_length=MOST_ENTRIES, description="serial or inventory numbers")
    ] = ()
    item_condition: Annotated[Line, Field(description="as received: new, used, repaired")] = ""
    received_on: Annotated[date | None, Field(description="when the item was received: 2026-03-01")] = None
    deviations: Annotated[Line, Field(description="from the method; or: none")] = ""
    additions: Annotated[Line, Field(description="to the method; or: none")] = ""
    exclusions: Annotated[Line, Field(description="from the method; or: none")] = ""
    external_providers: Annotated[Line, Field(description="who did parts of the work; or: none")] = ""
    selection_rule: Annotated[Line, Field(description="which runs were made; default: the ruleset's")] = ""
    decision_rule: Annotated[DecisionRule, Field(description="guarded: value - U >= limit; simple: value >= limit")] = (
        DecisionRule.GUARDED
    )
    requirements: Annotated[tuple[Requirement, ...], Field(max_length=MOST_ENTRIES, description="lower limits")] = ()
    statements: dict[int, Named] = Field(
        default_factory=dict, description="what the lab states of an item of the disclosure, by its number"
    )

    @field_validator("statements")
    @classmethod
    def _require_items(cls, statements: dict[int, str]) -> dict[int, str]:
        known = {item.number for item in read_disclosure()}
        if unknown := sorted(statements.keys() - known):
            raise make_refusal(Message("items are 1 to {last}; {number} is none", last=max(known), number=unknown[0]))
        return statements


TITLE = Message("details of the report")


def parse_details(answers: dict[str, Any]) -> LabDetails:
    """The form as a value. Raises SpecError with a problem per field."""
    try:
        return parse_document(LabDetails, {name: value for name, value in answers.items() if value is not None}, TITLE)
    except SpecError as error:
        raise SpecError(TITLE, [replace(problem, value="") for problem in error.problems]) from None  # may be a secret


def parse_details_text(text: str) -> LabDetails:
    """The same from YAML. Raises ConfigError where it is none."""
    if len(text) > 64 * 1024:
        raise SpecError(TITLE, [Problem("document", Message("is longer than 64 kB"))])
    return parse_details(parse_yaml(text, str(TITLE)))
