"""What a copy of the product (its first argument) says of a field of a spec that only the copy knows, as JSON.

test_field_cost.py runs it where that copy is found before the product itself."""

import json
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.app_test import TMP_DIR

from aisbench_core.config.settings import load_settings
from aisbench_core.domain.authoring.specfile import from_yaml
from aisbench_core.exchange.upstream.configs.writing import find_unsupported
from aisbench_core.interfaces.api.document.openapi import build_document
from aisbench_core.interfaces.api.endpoints import ENDPOINTS
from aisbench_core.interfaces.cli.entry import main as aisbench
from aisbench_core.model import Event, Level, RunSpec, WayIn
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import open_core
from pages._ui.configure.drafts import OWN
from pages._ui.shell.browser import SESSION
from pages._ui.shell.words import Language, load_catalogue
from tests import records as a
from tests.actors import TESTER
from tests.console.test_words import NAMED_BY_VALUES

FIELD = "power_limit_w"
SET: dict[str, Any] = {FIELD: 300}


def main(copy: Path) -> None:
    """Print what everything says that treats fields of a spec."""
    languages = [load_catalogue(language) for language in Language]
    found: dict[str, Any] = {"without a text": sorted(NAMED_BY_VALUES - languages[0].keys())}
    if not found["without a text"]:
        found |= {
            "labels": [texts[f"field.{FIELD}"] for texts in languages],
            "hashes": {"plain": a.spec().sha256, "with it": a.spec(**SET).sha256},
            "command line": _from_command_line(),
            "drafts": _from_form(copy),
            "documents": json.dumps(build_document(ENDPOINTS)).count("watts that a card may draw"),
            "left out of modelarts_config.py": [each.field for each in find_unsupported(a.spec(**SET))],
            "reproduce": _reproduced(),
            **_stored(copy),
        }
    print(json.dumps(found))


def _from_command_line() -> object:
    done = CliRunner().invoke(aisbench, ["spec", "quickstart_digits", "--set", f"{FIELD}=300"])
    return getattr(from_yaml(done.stdout), FIELD)


def _from_form(copy: Path) -> list[object]:
    """The field of the draft after it was typed, and after another workload was picked."""
    app = AppTest.from_file(str(copy / "pages" / "_ui" / "entry.py"), default_timeout=120)
    app.session_state[SESSION] = "a browser"
    app.switch_page("../configure.py")
    app.run()
    app.text_input(key=f"spec.{FIELD}").set_value("300").run()
    typed = _draft()
    app.selectbox(key="spec.workload").select("mindspore_resnet").run()
    TMP_DIR.cleanup()
    return [getattr(typed, FIELD), getattr(_draft(), FIELD)]


def _draft() -> RunSpec:
    ledger = Ledger(load_settings().ledger_path)
    with ledger.connection() as con:
        [row] = con.execute("select text from drafts where key like ?", [f"{OWN}%"]).fetchall()
    return from_yaml(row["text"])


def _reproduced() -> list[str]:
    core = open_core(load_settings())
    run = a.run("run-1", a.spec(workload="quickstart_digits", framework_version="", **SET))
    core.ledger.add(run, Event("run-1", a.T0, WayIn.CLI, Level.INFO, "launched"))
    aspects = core.reproductions.check("run-1", TESTER, "sandbox").aspects
    return [text for each in aspects if each.name == FIELD for text in (each.then, each.now, each.sameness.name)]


def _stored(copy: Path) -> dict[str, Any]:
    warehouse = Warehouse(copy / "warehouse.duckdb")
    warehouse.record_many([a.record("plain"), a.record("limited", **SET)])
    with warehouse.cursor() as cur:
        asked = "select run_id, record_sha256, fingerprint from runs"
        rows = {run_id: cells for run_id, *cells in cur.execute(asked).fetchall()}
    return {
        "compare": warehouse.runs.compare(["plain", "limited"]).reasons,
        "record of a run without it": rows["plain"],
        "is another row": rows["plain"][1] != rows["limited"][1],
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
