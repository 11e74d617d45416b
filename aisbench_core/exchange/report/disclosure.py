"""The items of a full disclosure: what SPEC, TPC, MLPerf, ISO/IEC 17025 and T/CESA ask a report to state.

`disclosure.yaml` lists them: where the value of each comes from, and why there may be none."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.formats import clip_text
from aisbench_core.base.messages import Message
from aisbench_core.model import Frozen

FILE = Path(__file__).parent / "disclosure.yaml"

Text = Annotated[str, Field(min_length=1)]


class DisclosureItem(Frozen):
    """One item. `asked_by`: S SPEC, T TPC, M MLPerf, I ISO/IEC 17025, C T/CESA and GB/T.

    Its value comes from the lab's `details`, from `columns` of the runs and fields of the tested `system`, or stands in
    a `section` of the report (a key of its words)."""

    number: Annotated[int, Field(ge=1)]
    title: Text
    title_zh: Text
    asked_by: Annotated[str, Field(pattern="^[STMIC]+$")]
    details: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    section: str = ""
    reason: Text
    reason_zh: Text


class _DisclosureFile(Frozen):
    items: tuple[DisclosureItem, ...]


@cache
def read_disclosure() -> tuple[DisclosureItem, ...]:
    """All items in their order."""
    return parse_document(_DisclosureFile, read_yaml(FILE), Message("disclosure")).items


@dataclass(frozen=True, slots=True)
class DisclosedItem:
    """What a report says of an item: `stated`, by kind and name of its source; `section`: where more stands."""

    item: DisclosureItem
    stated: tuple[tuple[str, str, str], ...]
    section: str = ""

    @property
    def is_stated(self) -> bool:
        """Whether anything is said; otherwise the reason is."""
        return bool(self.stated or self.section)


MOST_VALUES = 3  # of a column; tables have the others
MOST_LETTERS = 120


def disclose_items(
    sources: Mapping[str, Sequence[Mapping[str, object]]], statements: Mapping[int, str], sections: Collection[str]
) -> Iterator[DisclosedItem]:
    """Every item, with what is stated of it. `sources`: of `details`, `columns` and `system`, rows of values by name;
    `statements`: the lab's own, by number; `sections`: those that the report has."""
    for item in read_disclosure():
        found = [("statement", "", statements[item.number])] if item.number in statements else []
        for kind, names in (("details", item.details), ("columns", item.columns), ("system", item.system)):
            found += [(kind, name, _join_values(row.get(name) for row in sources[kind])) for name in names]
        stated = tuple(each for each in found if each[2])
        yield DisclosedItem(item, stated, item.section if item.section in sections else "")


def _join_values(values: Iterable[object]) -> str:
    texts = list(dict.fromkeys(_to_text(value) for value in values if value not in (None, "", ())))
    return "; ".join(texts[:MOST_VALUES]) + ("; …" if len(texts) > MOST_VALUES else "")


def _to_text(value: object) -> str:
    return clip_text(", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value), MOST_LETTERS)
