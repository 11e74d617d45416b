"""Which part of the product uses which library."""

from collections.abc import Mapping

import pytest

from tests.source_tree import imports, is_inside, lies_in, path_of, product

OUTSIDE: Mapping[str, frozenset[str]] = {
    "streamlit": frozenset({"app.py", "pages"}),
    "altair": frozenset({"pages"}),
    "apprise": frozenset({"aisbench_core/people/notifications"}),
    "cronsim": frozenset({"aisbench_core/running/schedules"}),
    "click": frozenset({"aisbench_core/interfaces/cli", "aisbench_sandbox/__main__.py"}),
    "duckdb": frozenset({"aisbench_core/maintenance/upgrading", "aisbench_core/warehouse"}),
    "sqlite3": frozenset({"aisbench_core/exchange/mlflow", "aisbench_core/store/ledger/ledger_file.py"}),
    "psycopg": frozenset({"aisbench_core/store/ledger/database"}),
    "re2": frozenset({"aisbench_core/domain/progress/patterns.py"}),
    "filelock": frozenset(
        {
            "aisbench_core/exchange/importing/turn.py",
            "aisbench_core/store/run_folders/cache.py",
            "aisbench_core/store/ledger/database/leases.py",
            "aisbench_sandbox/server.py",
        }
    ),
    "google.protobuf": frozenset({"aisbench_core/domain/summaries"}),
    "huaweicloudsdkcore": frozenset({"aisbench_core/cloud"}),
    "huaweicloudsdkmodelarts": frozenset({"aisbench_core/cloud"}),
    "jinja2": frozenset({"aisbench_core/exchange/report", "aisbench_core/exchange/publishing"}),
    "modelarts": frozenset({"aisbench_core/cloud"}),
    "obs": frozenset({"aisbench_core/cloud"}),
    "pandas": frozenset({"aisbench_core/warehouse/open", "pages/_ui/shell/preloading.py"}),
    "openpyxl": frozenset({"aisbench_core/exchange/readers"}),
    "pyarrow": frozenset(
        {
            "aisbench_core/interfaces/api/tables.py",
            "aisbench_core/interfaces/client",
            "aisbench_core/domain/logs/patterns.py",
            "aisbench_core/exchange/publishing",
            "aisbench_core/warehouse",
            "pages",
        }
    ),
    **dict.fromkeys(("authlib", "itsdangerous", "joserfc"), frozenset({"aisbench_core/interfaces/web/oidc"})),
    "requests": frozenset(
        {
            "aisbench_core/cloud",
            "aisbench_core/exchange/mlflow/tracking.py",
            "aisbench_core/interfaces/web/oidc",
            "aisbench_core/running/time_stamps.py",
        }
    ),
    "urllib3": frozenset({"aisbench_core/cloud", "aisbench_core/people/notifications", "aisbench_core/interfaces/web"}),
    "weasyprint": frozenset({"aisbench_core/exchange/report"}),
    "xlsxwriter": frozenset({"aisbench_core/warehouse"}),
    "scipy": frozenset({"aisbench_core/domain/acceptance", "aisbench_core/domain/statistics"}),
    "starlette": frozenset(
        {"app.py", "aisbench_sandbox", "aisbench_core/interfaces/api", "aisbench_core/interfaces/web"}
    ),
    "uvicorn": frozenset(
        {"aisbench_sandbox", "aisbench_core/interfaces/api/serving.py", "aisbench_core/interfaces/web/half_requests.py"}
    ),
}
"""Libraries (and sqlite3) that belong to one part of the product, and where they may be imported."""


@pytest.mark.parametrize("library", OUTSIDE)
def test_a_library_is_imported_only_where_it_belongs(library: str) -> None:
    wrong = {
        path_of(file)
        for file in product()
        if any(is_inside(name, (library,)) for name in imports(file)) and not lies_in(file, OUTSIDE[library])
    }

    assert wrong == set()
