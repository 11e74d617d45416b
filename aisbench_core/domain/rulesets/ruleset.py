"""Rulesets: YAML files with the rules of validity, their levels in each division, thresholds and sources.

What a rule checks is code (`aisbench_core/warehouse/validity/run_checks.py`, `series_checks.py` there); everything that
a lab may want to change is here.
"""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.base.messages import Hint, Message
from aisbench_core.model import Division, Frozen, canonical_json
from aisbench_core.model.columns import KEYS, LATER_KEYS

# The product's own ruleset, which applies unless the settings name another.
DEFAULT = "aisbench/1"

ID_PATTERN = r"^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?$"

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]

SHIPPED = Path(__file__).parent
MAX_EXTENDED = 8  # ends files that extend each other
_ID = re.compile(r"""^id:\s*["']?([^\s"'#]+)""", re.MULTILINE)


class Consequence(StrEnum):
    """What happens when a check does not pass: the result is invalid, or has a warning; or the rule is not checked."""

    FAIL = "fail"
    WARN = "warn"
    OFF = "off"


class Levels(Frozen):
    """A consequence for each division. Results without a stated division, and rehearsals, are of the open one."""

    closed: Annotated[Consequence, Field(description="for results of the closed division")]
    open: Annotated[Consequence, Field(description="for all others")]

    def of(self, division: Division) -> Consequence:
        """The consequence in a division."""
        return self.closed if division is Division.CLOSED else self.open


class ValidityRule(Levels):
    """What every rule states; one without thresholds states nothing else."""

    title: Annotated[Text, Field(description="what has to be so")]
    title_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    fix: Annotated[Text, Field(description="what to do when it is not so")]
    fix_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    source: Annotated[Text, Field(description="where the rule and its numbers come from")]
    inferred: Annotated[bool, Field(description="whether that was inferred, because the text is not public")] = False


# Keys of the result block that V01 can require.
REQUIRED = tuple(key.stored_name for key in KEYS if key.stored_name not in LATER_KEYS)

# mypy does not understand a Literal of computed names.
if TYPE_CHECKING:
    Required: TypeAlias = str
else:
    Required = Literal["throughput", "throughput_definition", *REQUIRED]


class Fields(ValidityRule):
    required: Annotated[tuple[Required, ...], Field(description="what a result must hold")]


class Times(ValidityRule):
    inside_total: Annotated[bool, Field(description="whether every period must lie inside total")] = False


class Tolerance(ValidityRule):
    """About two numbers that should be equal: the reported and the computed throughput, energy and power x time, …"""

    tolerance: Annotated[Share, Field(description="how far apart they may be, as a share")]


class Stragglers(ValidityRule):
    share: Annotated[Share, Field(description="of the run's median card, below which a card is a straggler")]


class Target(Frozen):
    """The accuracy that a model has to reach."""

    accuracy: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False, description="0.759 is 75.9 %")]
    source: Annotated[Text, Field(description="where the number comes from")]
    inferred: Annotated[bool, Field(description="whether it was inferred")] = False


class Accuracy(ValidityRule):
    below_target: Annotated[Levels, Field(description="what a missed target does")]
    targets: dict[str, Target] = Field(
        default_factory=dict, description="by workload or model; others have the target of their workload"
    )


class ServerAccuracy(ValidityRule):
    most_apart: Annotated[Share, Field(description="how far the servers' accuracies may be apart")]


class Definitions(ValidityRule):
    allowed: Annotated[tuple[str, ...], Field(description="the definitions that count; none named: every one")] = ()


class Description(ValidityRule):
    fields: Annotated[int, Field(ge=0, le=33, description="how many of the 33 fields must be filled in")] = 33


class Clock(ValidityRule):
    ahead_s: Annotated[Count, Field(description="seconds that clocks may differ")]


class RunCount(ValidityRule):
    runs: Annotated[Count, Field(description="valid runs that a series needs")]
    by_model: dict[str, Count] = Field(default_factory=dict, description="other numbers, by workload or model")


class Missed(ValidityRule):
    most: Annotated[Count, Field(description="runs of a series that may miss the target")]


class Outliers(ValidityRule):
    deviations: Annotated[float, Field(gt=0, allow_inf_nan=False, description="median absolute deviations")]


class SpreadRule(ValidityRule):
    most: Annotated[Share, Field(description="the largest coefficient of variation")]


class SeriesSpan(ValidityRule):
    days: Annotated[Count, Field(description="between the first and the last run of a series")]


class RunRules(Frozen):
    """Rules about one run, which decide its validity. A rule that is not named is off."""

    V01: Fields | None = None
    V02: Times | None = None
    V03: ValidityRule | None = None
    V04: Tolerance | None = None
    V05: Stragglers | None = None
    V06: Accuracy | None = None
    V07: ServerAccuracy | None = None
    V15: ValidityRule | None = None
    V16: Definitions | None = None
    V19: Tolerance | None = None
    V21: Description | None = None
    V23: Tolerance | None = None
    V25: ValidityRule | None = None
    V26: Clock | None = None


class SeriesRules(Frozen):
    """Rules about all runs of a series, which decide whether the series counts, not whether its runs are valid."""

    V08: RunCount | None = None
    V09: Missed | None = None
    V11: ValidityRule | None = None
    V12: ValidityRule | None = None
    V14: ValidityRule | None = None
    V22: Outliers | None = None
    V27: SpreadRule | None = None
    V28: ValidityRule | None = None
    V29: SeriesSpan | None = None
    V30: ValidityRule | None = None


class Ruleset(Frozen):
    """Everything besides the result that its validity depends on."""

    id: Annotated[str, Field(pattern=ID_PATTERN, max_length=60, description="its name in results")]
    title: Annotated[Text, Field(description="its name")]
    title_zh: Annotated[str, Field(description="the same in Chinese")] = ""
    edition: Annotated[Text, Field(description="which edition of which text")]
    source: Annotated[Text, Field(description="where that text is to be had")]
    run: RunRules
    series: SeriesRules = SeriesRules()

    @cached_property
    def sha256(self) -> str:
        """A hash of everything that decides validity, without titles and other text."""
        # A better title must not make stored evaluations look outdated.
        words = {"title", "title_zh", "fix", "fix_zh", "source", "inferred"}
        rules = {rule_id: rule.model_dump(mode="json", exclude=words) for rule_id, rule in self.rules.items()}
        return hashlib.sha256(canonical_json(rules).encode()).hexdigest()

    @property
    def inferred(self) -> tuple[str, ...]:
        """The ids of the rules that were inferred: the text that the ruleset is named after is not public."""
        return tuple(rule_id for rule_id, rule in self.rules.items() if rule.inferred)

    @property
    def basis(self) -> Hint:
        """What is shown beside the ruleset's name where rules were inferred; otherwise empty.

        Without commas, so that a cell of a CSV needs no quotes."""
        inferred, rules = len(self.inferred), len(self.rules)
        if not inferred:
            return ""
        if inferred == rules:
            return Message("rules inferred without the standard's text")
        return Message("{count} of {total} rules inferred without the standard's text", count=inferred, total=rules)

    @cached_property
    def rules(self) -> Mapping[str, ValidityRule]:
        """All rules by id, sorted."""
        return dict(sorted((rule_id, rule) for rule_id, rule in [*self.run, *self.series] if rule is not None))


def with_basis(name: str, basis: str) -> str:
    """A ruleset's name, and its basis in parentheses where it has one."""
    return f"{name} ({basis})" if basis else name


class Rulesets:
    """The shipped rulesets and those of a folder. A file that cannot be used fails only when it is asked for."""

    def __init__(self, own: Path | None = None) -> None:
        self._own = own

    def ids(self) -> list[str]:
        """All ids, the product's own first. Raises ConfigError when two files have the same."""
        return [DEFAULT, *sorted(self._find_files().keys() - {DEFAULT})]

    def get(self, ruleset_id: str) -> Ruleset:
        """One ruleset. Raises ConfigError when there is none, SpecError about each field that is wrong."""
        return _read_ruleset(self._find_file(ruleset_id), self._find_files())

    def bases(self) -> dict[str, Message]:
        """The basis of each ruleset with inferred rules, by id; files that cannot be used are left out."""
        try:
            files = self._find_files()
        except ConfigError:  # two of the lab's own files have the same id
            return Rulesets().bases() if self._own else {}
        bases: dict[str, Message] = {}
        for ruleset_id, file in files.items():
            with suppress(ConfigError, SpecError):
                if basis := _read_ruleset(file, files).basis:
                    bases[ruleset_id] = basis
        return bases

    def text(self, ruleset_id: str) -> str:
        """The file's text, as a start for an own one. Raises ConfigError."""
        return self._find_file(ruleset_id).read_text("utf-8")

    def _find_file(self, ruleset_id: str) -> Path:
        files = self._find_files()
        if ruleset_id not in files:
            ids = ", ".join(self.ids())
            raise ConfigError(
                Message("there is no ruleset {ruleset_id!r}; known are {ids}", ruleset_id=ruleset_id, ids=ids),
                Message("write data/rulesets/<name>.yaml, or name one that there is"),
            )
        return files[ruleset_id]

    def _find_files(self) -> dict[str, Path]:
        by_id: dict[str, Path] = {}
        own = self._own.glob("*.yaml") if self._own else []
        for file in [*sorted(SHIPPED.glob("*.yaml")), *sorted(own)]:
            ruleset_id = _id_of(file)
            if ruleset_id in by_id:
                raise ConfigError(
                    Message(
                        "ruleset file {name} has the id {ruleset_id}, as {other} has",
                        name=file.name,
                        ruleset_id=ruleset_id,
                        other=by_id[ruleset_id].name,
                    ),
                    Message("give it an id of its own"),
                )
            by_id[ruleset_id] = file
        return by_id


@cache
def get_shipped(ruleset_id: str = DEFAULT) -> Ruleset:
    """A shipped ruleset."""
    return Rulesets().get(ruleset_id)


def _id_of(file: Path) -> str:
    # By a pattern: to parse all files for their ids is slow, and one damaged file would make all of them unusable.
    with suppress(OSError, UnicodeDecodeError):
        if match := _ID.search(file.read_text("utf-8")):
            return match[1]
    return file.stem


def _read_ruleset(file: Path, files: Mapping[str, Path]) -> Ruleset:
    content = _with_bases(file, files, MAX_EXTENDED)
    return parse_document(Ruleset, content, Message("ruleset {name}", name=file.name))


def _with_bases(file: Path, files: Mapping[str, Path], levels: int) -> dict[str, Any]:
    """The content of a file, completed by that of the file that it extends."""
    content = read_yaml(file)
    base = content.pop("extends", None)
    if base is None:
        return content
    if base not in files or not levels:
        ids = ", ".join(sorted(files))
        raise ConfigError(
            Message(
                "ruleset file {name}: extends: must name another ruleset (found {base!r})", name=file.name, base=base
            ),
            Message("known are {known}", known=ids),
        )
    return _merge_contents(_with_bases(files[base], files, levels - 1), content)


def _merge_contents(base: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged; any other value replaces that of the base."""
    changes = {
        key: _merge_contents(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in content.items()
    }
    return {**base, **changes}
