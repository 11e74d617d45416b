"""The rules of causes: YAML files in `rules/`, read once."""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.messages import Message, make_bilingual, make_verbatim
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.model import JobFault, Scalar
from aisbench_core.model.spec import Frozen
from aisbench_core.running.diagnosing.cause import Cause, CauseSource, Confidence, Link

SHIPPED = Path(__file__).parent / "rules"

Text = Annotated[str, Field(min_length=1)]


class CauseClue(Frozen):
    """What a line must contain. `text` is searched for first, whatever its case; `pattern` decides."""

    text: Annotated[str, Field(min_length=3, pattern=r"^[\x20-\x7e]+$", description="in every such line")]
    pattern: Annotated[str, Field(description="a regular expression that is searched for in the line")] = ""
    weak: Annotated[bool, Field(description="counts only if no other clue says why")] = False
    remark: Annotated[bool, Field(description="of weak ones: counts only after all others, wherever they are")] = False
    any_level: Annotated[bool, Field(description="also in lines that call themselves information or warnings")] = False
    after: Annotated[str, Field(description="a regular expression for one of the lines before, too")] = ""
    confidence: Annotated[Confidence | None, Field(description="if it is not that of the rule")] = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    @field_validator("pattern", "after")
    @classmethod
    def _check_pattern(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise make_refusal(Message("is not a regular expression: {why}", why=error)) from None
        return value

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern; without one, the text."""
        return re.compile(self.pattern) if self.pattern else re.compile(re.escape(self.text), re.IGNORECASE)

    @cached_property
    def regex_before(self) -> re.Pattern[str] | None:
        """Of the lines before."""
        return re.compile(self.after) if self.after else None

    def search(self, line: str) -> re.Match[str] | None:
        """The clue in a line."""
        return self.regex.search(line)


class CorrectionKind(StrEnum):
    """How a spec is corrected."""

    HALVE = "halve"
    LONGER = "longer_auto_stop"
    DROP = "drop_argument"
    EARLIER = "earlier_input"
    SET = "set"


class Correction(Frozen):
    """What a corrected spec changes."""

    kind: CorrectionKind
    parameters: Annotated[tuple[str, ...], Field(description="of `halve`: parts of the parameters' names")] = ()
    fields: dict[str, Scalar] = Field(default_factory=dict, description="of `set`: dotted fields and their values")


class ManualLink(Frozen):
    """A page of a manual."""

    title: Text
    title_zh: str = ""
    url: Annotated[str, Field(pattern=r"^https://")]


class CauseRule(Frozen):
    """One cause, and what shows it."""

    cause: Annotated[Text, Field(description="the cause in one sentence")]
    cause_zh: Annotated[Text, Field(description="the same in Chinese")]
    advice: Annotated[Text, Field(description="what to do")]
    advice_zh: Annotated[Text, Field(description="the same in Chinese")]
    confidence: Confidence
    logs: Annotated[tuple[CauseClue, ...], Field(description="in a line of a log")] = ()
    events: Annotated[tuple[CauseClue, ...], Field(description="in an event of the platform")] = ()
    messages: Annotated[
        tuple[CauseClue, ...], Field(description="in what the platform says of tasks and requests")
    ] = ()
    exit_codes: Annotated[tuple[int, ...], Field(description="of the task that failed")] = ()
    faults: Annotated[
        tuple[JobFault, ...], Field(description="the platform's word for why it interrupted the job")
    ] = ()
    consequence: Annotated[bool, Field(description="follows from an error of another rank, if there is any")] = False
    correction: Correction | None = None
    links: tuple[ManualLink, ...] = ()
    examples: Annotated[tuple[str, ...], Field(description="ends of real logs that this rule explains")] = ()
    lookalikes: Annotated[tuple[str, ...], Field(description="ends of real logs that it must not explain")] = ()

    def to_cause(self, rule_id: str, source: CauseSource, confidence: Confidence | None = None) -> Cause:
        """The cause, as found there."""
        return Cause(
            rule_id,
            make_bilingual(self.cause, self.cause_zh),
            make_bilingual(self.advice, self.advice_zh),
            confidence or self.confidence,
            source,
            tuple(Link(make_bilingual(link.title, link.title_zh), link.url) for link in self.links),
        )


class _RuleFile(Frozen):
    rules: dict[Annotated[str, Field(pattern=r"^[a-z]+(-[a-z]+)*$")], CauseRule]


@cache
def shipped_rules() -> Mapping[str, CauseRule]:
    """All rules by id, in the order of the files; in one line, the first that matches counts."""
    rules: dict[str, CauseRule] = {}
    for file in sorted(SHIPPED.glob("*.yaml")):
        rules |= parse_document(_RuleFile, read_yaml(file), make_verbatim(file.name)).rules
    return rules
