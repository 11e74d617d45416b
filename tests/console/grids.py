"""The tables of a page that is driven without a browser: what they show, and what a person does with them."""

import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

COMPONENT = "bidi_component"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row: its id, the address that it opens, and its cells by column."""

    id: str
    href: str
    cells: dict[str, dict[str, Any]]

    def __getitem__(self, column: str) -> str:
        """What a cell says: the name of its dot, its text with the unit, and what follows them."""
        cell = self.cells.get(column, {})
        parts = [part.get("name") or part["text"] for part in cell.get("parts", ())]
        said = [cell.get("dot", {}).get("name"), cell.get("text"), cell.get("unit"), *parts]
        return " ".join(filter(None, said))

    def tone(self, column: str) -> str:
        """The tone of a cell's text."""
        tone: str = self.cells[column].get("tone", "plain")
        return tone


class Grid:
    """A table of the page, by what it is called for those who cannot see it, or the only one."""

    def __init__(self, app: AppTest, name: str = "") -> None:
        self._app = app
        named = [(each.proto, json.loads(each.proto.json)) for each in app.get(COMPONENT)]
        [(self._proto, self.data)] = [(proto, data) for proto, data in named if name in ("", data["name"])]

    @property
    def name(self) -> str:
        """What it is called for those who cannot see it."""
        name: str = self.data["name"]
        return name

    @property
    def whole(self) -> str:
        """All that its cells say, tooltips included."""
        said = [(row[key], cell.get("title", "")) for row in self.rows for key, cell in row.cells.items()]
        return "\n".join(text for texts in said for text in texts if text)

    @property
    def labels(self) -> dict[str, str]:
        """The heads of its columns."""
        return {column["key"]: column["label"] for column in self.data["columns"]}

    @property
    def rows(self) -> list[ShownRow]:
        return [ShownRow(row["id"], row["href"], row["cells"]) for row in self.data["rows"]]

    @property
    def ids(self) -> list[str]:
        return [row.id for row in self.rows]

    def row(self, row_id: str) -> ShownRow:
        [row] = [row for row in self.rows if row.id == row_id]
        return row

    def column(self, key: str) -> list[str]:
        """What the cells of a column say."""
        return [row[key] for row in self.rows]

    def tick(self, *ids: str) -> AppTest:
        """Tick these rows, and no others."""
        ticked = {"ticked": {"ids": list(ids), "at": time.time_ns() // 1_000_000}}
        return self._send(WidgetState(id=self._proto.id, json_value=json.dumps(ticked)))

    def open(self, row_id: str) -> AppTest:
        """Click a row, or press Enter on it."""
        page, _, query = self.row(row_id).href.partition("?")
        return self._call("opened", {"page": page, "parameters": parse_qsl(query)})

    def sort(self, by: str) -> AppTest:
        """Click the head of the column that sorts so."""
        assert by in [column.get("sort") for column in self.data["columns"]]
        return self._call("sorted", by)

    def _call(self, event: str, value: object) -> AppTest:
        events = json.dumps([{"event": event, "value": value}])
        return self._send(
            WidgetState(id=f"$$STREAMLIT_INTERNAL_KEY_{self._proto.id}__events", json_trigger_value=events)
        )

    def _send(self, state: WidgetState) -> AppTest:
        states = self._app._tree.get_widget_states()
        states.widgets.append(state)
        return self._app._run(states)


def list_grids(app: AppTest) -> list[Grid]:
    """All tables of the page that have a name of their own, from top to bottom."""
    names = dict.fromkeys(json.loads(each.proto.json)["name"] for each in app.get(COMPONENT))
    return [Grid(app, name) for name in names]


def has_grid(app: AppTest, name: str) -> bool:
    """Whether the page has a table of this name."""
    return any(json.loads(each.proto.json)["name"] == name for each in app.get(COMPONENT))
