"""Run in a copy of the product whose spec has one more field: what it says of runs of before, and of the field."""

import json
import sys
from pathlib import Path

from aisbench_core.model import RunSpec
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

EVERYTHING = BoardQuery("cn-north-9", include_invalid=True)


def main(stored: Path) -> None:
    """Print the answers about the warehouse that the product without the field stored."""
    warehouse = Warehouse(stored)
    before = [a.record("before"), a.record("tuned", environments={"PRECISION": "int8"}, log_levels={"cann": "error"})]
    damages = [str(damage.sentence) for damage in warehouse.check(before).damages]
    warehouse.record_many([a.record("unset"), a.record("set", turbo=True)])
    comparison = warehouse.runs.compare(["before", "set"])
    alike = warehouse.runs.compare(["before", "unset"])
    answers = {
        "has_field": "turbo" in RunSpec.model_fields,
        "damages": damages,
        "rows": sorted(row.runs for row in warehouse.board.list_rows(EVERYTHING).rows),
        "reasons": comparison.reasons,
        "alike": [alike.verdict, len(alike.differences)],
        "damages_after": [str(damage.sentence) for damage in warehouse.check([]).damages],
    }
    print(json.dumps(answers))


main(Path(sys.argv[1]))
