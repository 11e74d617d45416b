"""What ARCHITECTURE.md promises about the code: who may import whom."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.source_tree import PRODUCT, SANDBOX, files_of, imports, is_inside, lies_in, path_of, product

OUTSIDE: Mapping[str, frozenset[str]] = {
    "streamlit": frozenset({"app.py", "pages"}),
    "altair": frozenset({"pages"}),
    "apprise": frozenset({"aisbench_core/notifications"}),
    "cronsim": frozenset({"aisbench_core/schedules"}),
    "click": frozenset({"aisbench_core/cli", "aisbench_sandbox/__main__.py"}),
    "duckdb": frozenset({"aisbench_core/upgrading", "aisbench_core/warehouse"}),
    "sqlite3": frozenset({"aisbench_core/mlflow", "aisbench_core/running/ledger_file.py"}),
    "psycopg": frozenset({"aisbench_core/running/stores"}),
    "re2": frozenset({"aisbench_core/progress/patterns.py"}),
    "filelock": frozenset(
        {
            "aisbench_core/importing/turn.py",
            "aisbench_core/running/publishing/cache.py",
            "aisbench_core/running/stores/leases.py",
            "aisbench_sandbox/server.py",
        }
    ),
    "google.protobuf": frozenset({"aisbench_core/summaries"}),
    "huaweicloudsdkcore": frozenset({"aisbench_core/cloud"}),
    "huaweicloudsdkmodelarts": frozenset({"aisbench_core/cloud"}),
    "jinja2": frozenset({"aisbench_core/report"}),
    "modelarts": frozenset({"aisbench_core/cloud"}),
    "obs": frozenset({"aisbench_core/cloud"}),
    "pandas": frozenset({"aisbench_core/warehouse/open", "pages/_ui/shell/preloading.py"}),
    "openpyxl": frozenset({"aisbench_core/importing/readers"}),
    "pyarrow": frozenset(
        {
            "aisbench_core/api/tables.py",
            "aisbench_core/client",
            "aisbench_core/logs/patterns.py",
            "aisbench_core/warehouse",
            "pages",
        }
    ),
    **dict.fromkeys(("authlib", "itsdangerous", "joserfc"), frozenset({"aisbench_core/web/oidc"})),
    "requests": frozenset({"aisbench_core/cloud", "aisbench_core/mlflow/tracking.py", "aisbench_core/web/oidc"}),
    "urllib3": frozenset({"aisbench_core/cloud", "aisbench_core/notifications", "aisbench_core/web"}),
    "weasyprint": frozenset({"aisbench_core/report"}),
    "xlsxwriter": frozenset({"aisbench_core/warehouse"}),
    "scipy": frozenset({"aisbench_core/statistics"}),
    "starlette": frozenset({"app.py", "aisbench_sandbox", "aisbench_core/api", "aisbench_core/web"}),
    "uvicorn": frozenset({"aisbench_sandbox", "aisbench_core/api/serving.py", "aisbench_core/web/half_requests.py"}),
}
"""Libraries (and sqlite3) that belong to one part of the product, and where they may be imported."""

_BELOW = (
    *("access", "changes", "credentials", "documents", "errors", "formats"),
    *("model", "private_files", "settings", "value_errors"),
)
BELOW = tuple(f"aisbench_core.{name}" for name in _BELOW)

EVERYWHERE = ("aisbench_core.messages",)
"""Sentences are said in every part."""

INSIDE: Mapping[str, tuple[str, ...]] = {
    "app.py": tuple(
        f"aisbench_core.{name}" for name in ("access.identity", "api", "private_files", "settings", "web", "wiring")
    ),
    "pages": (
        *(f"aisbench_core.access.{name}" for name in ("audit_entry", "identity", "permissions", "server_files")),
        *(f"aisbench_core.accounts.{name}" for name in ("audit", "audit_table", "open_sessions", "people", "sessions")),
        "aisbench_core.preflight.fixes",
        *("aisbench_core.authoring.manifest", "aisbench_core.authoring.number_ranges"),
        "aisbench_core.upstream.packages.package",
        "aisbench_core.preflight.rule",
        *(f"aisbench_core.progress.{name}" for name in ("overview", "points", "snapshots")),
        "aisbench_core.authoring.config_file",
        "aisbench_core.authoring.specfile",
        "aisbench_core.upstream.configs.contents",
        "aisbench_core.authoring.workloads",
        *("aisbench_core.cleaning.plans", "aisbench_core.diagnosing.cause"),
        *("aisbench_core.documents", "aisbench_core.errors"),
        *("aisbench_core.health", "aisbench_core.liveness"),
        "aisbench_core.importing.readers.results",
        "aisbench_core.importing.choices",
        "aisbench_core.logs",
        *("aisbench_core.model", "aisbench_core.formats", "aisbench_core.private_files"),
        "aisbench_core.notifications.channels",
        *("aisbench_core.reproducing.values", "aisbench_core.results.job_events", "aisbench_core.results.utilisation"),
        "aisbench_core.results.card_samples",
        *("aisbench_core.rulesets.ruleset", "aisbench_core.report.sentences", "aisbench_core.report.words"),
        *(f"aisbench_core.series.{name}" for name in ("comparing", "matrix", "planning")),
        *("aisbench_core.credentials", "aisbench_core.settings"),
        *("aisbench_core.statistics.difference", "aisbench_core.statistics.summary"),
        *(
            "aisbench_core.summaries.curves",
            "aisbench_core.system.descriptions",
            "aisbench_core.summaries.tensorboards",
        ),
        "aisbench_core.warehouse.answers.activity",
        *("aisbench_core.warehouse.answers.board_row", "aisbench_core.warehouse.answers.boards"),
        *("aisbench_core.warehouse.answers.compared", "aisbench_core.warehouse.answers.ranks"),
        "aisbench_core.warehouse.answers.configurations",
        "aisbench_core.warehouse.exports",
        "aisbench_core.warehouse.answers.histories",
        "aisbench_core.warehouse.records.imported",
        "aisbench_core.warehouse.answers.scalings",
        *("aisbench_core.warehouse.records.saved", "aisbench_core.warehouse.answers.sorts"),
        *("aisbench_core.warehouse.spending.answers", "aisbench_core.warehouse.spending.totals"),
        "aisbench_core.warehouse.values",
        *(f"aisbench_core.web.{name}" for name in ("addresses", "front_door", "oidc.session_cookie", "uploads")),
        "aisbench_core.wiring",
    ),
    "aisbench_core/cli": (
        "aisbench_core.accounts",
        "aisbench_core.authoring",
        *("aisbench_core.preflight", "aisbench_core.upstream"),
        *("aisbench_core.backups", "aisbench_core.cleaning.plans", "aisbench_core.cli", "aisbench_core.console_log"),
        *("aisbench_core.data_folder", "aisbench_core.upgrading.service"),
        *("aisbench_core.diagnosing.cause", "aisbench_core.doctor.diagnosis", "aisbench_core.health"),
        "aisbench_core.importing.readers.results",
        *("aisbench_core.logs", "aisbench_core.mlflow.tracking"),
        *("aisbench_core.importing.choices", "aisbench_core.reproducing", "aisbench_core.series"),
        "aisbench_core.notifications.channels",
        *("aisbench_core.results.job_events", "aisbench_core.results.utilisation", "aisbench_core.rulesets"),
        *("aisbench_core.results.card_samples", "aisbench_core.running.run_files", "aisbench_core.summaries"),
        *(f"aisbench_core.{name}" for name in ("liveness", "report.words", "summaries.tensorboards")),
        *("aisbench_core.system", "aisbench_core.tokens.token", "aisbench_core.warehouse", "aisbench_core.wiring"),
        *(f"aisbench_core.statistics.{name}" for name in ("amdahl", "difference", "summary")),
        *("aisbench_core.api.serving", "aisbench_core.client", "aisbench_core.commands"),
        *(f"aisbench_core.web.{name}" for name in ("addresses", "identity", "tls")),
        *BELOW,
    ),
    "aisbench_core/api": (
        *(
            "aisbench_core.api",
            "aisbench_core.commands",
            "aisbench_core.diagnosing.cause",
            "aisbench_core.health",
            "aisbench_core.logs",
            "aisbench_core.preflight",
            *(f"aisbench_core.{name}" for name in ("progress.points", "running.ledger", "summaries.curves")),
            "aisbench_core.schedules.cron",
        ),
        *("aisbench_core.series", "aisbench_core.statistics", "aisbench_core.tokens"),
        *(
            "aisbench_core.warehouse",
            *(f"aisbench_core.web.{name}" for name in ("addresses", "front_door", "half_requests", "ledger_checks")),
            "aisbench_core.web.security_headers",
            "aisbench_core.web.slow_readers",
        ),
        *("aisbench_core.wiring", *BELOW),
    ),
    "aisbench_core/commands": ("aisbench_core.commands", "aisbench_core.tokens.token", *BELOW),
    "aisbench_core/client": ("aisbench_core.client", *BELOW),
    "aisbench_core/wiring.py": (
        *("aisbench_core.accounts", "aisbench_core.console_log"),
        *(
            f"aisbench_core.{name}"
            for name in ("annotations", "authoring", "backups", "cleaning", "cloud", "data_folder", "diagnosing")
        ),
        *(
            f"aisbench_core.{name}"
            for name in ("doctor", "health", "importing", "job_secrets", "logs", "mlflow", "notifications", "preflight")
        ),
        *(
            f"aisbench_core.{name}"
            for name in ("progress", "report", "reproducing", "rulesets", "run_names", "running", "series", "storage")
        ),
        *(f"aisbench_core.{name}" for name in ("region_files", "region_resources", "regions", "schedules")),
        *(f"aisbench_core.{name}" for name in ("seals", "system", "tokens", "upstream", "warehouse")),
        *BELOW,
    ),
    "aisbench_core/seals": (
        *(f"aisbench_core.running.{name}" for name in ("ledger", "publishing", "stores")),
        *("aisbench_core.accounts.audit", "aisbench_core.seals", *BELOW),
    ),
    "aisbench_core/storage.py": (
        *("aisbench_core.cloud.addresses", "aisbench_core.running.run_files", "aisbench_core.running.stores.address"),
        *("aisbench_core.seals", "aisbench_core.warehouse", *BELOW),
    ),
    "aisbench_core/series": (
        *("aisbench_core.authoring", "aisbench_core.job_secrets", "aisbench_core.regions", "aisbench_core.results"),
        *(f"aisbench_core.{name}" for name in ("preflight", "running", "series", "statistics", "warehouse")),
        *BELOW,
    ),
    "aisbench_core/schedules": (
        *(
            f"aisbench_core.{name}"
            for name in ("running.ledger_schedules", "schedules", "series", "tokens.service", "warehouse")
        ),
        *BELOW,
    ),
    "aisbench_core/system": (
        *(f"aisbench_core.{name}" for name in ("authoring.config_file", "results", "running", "seals", "system")),
        *BELOW,
    ),
    "aisbench_core/reproducing": (
        *(f"aisbench_core.{name}" for name in ("authoring", "preflight", "regions", "reproducing", "running")),
        *(f"aisbench_core.{name}" for name in ("statistics.summary", "system", "warehouse")),
        *BELOW,
    ),
    "aisbench_core/diagnosing": (
        *("aisbench_core.authoring.workloads", "aisbench_core.diagnosing", "aisbench_core.liveness"),
        *("aisbench_core.preflight.fixes", "aisbench_core.running", *BELOW),
    ),
    "aisbench_core/upgrading": (
        *(f"aisbench_core.{name}" for name in ("running", "storage", "upgrading", "warehouse")),
        *BELOW,
    ),
    "aisbench_core/backups": (
        *(f"aisbench_core.{name}" for name in ("accounts", "backups", "importing.turn", "rulesets", "seals")),
        *(f"aisbench_core.running.{name}" for name in ("ledger", "ledger_file", "ledger_schema", "run_files")),
        *("aisbench_core.running.stores", "aisbench_core.warehouse", *BELOW),
    ),
    "aisbench_core/cleaning": (
        *("aisbench_core.cleaning", "aisbench_core.cloud.ports", "aisbench_core.results", "aisbench_core.running"),
        *("aisbench_core.seals", *BELOW),
    ),
    "aisbench_core/notifications": (
        *("aisbench_core.notifications", "aisbench_core.report.sentences"),
        *(f"aisbench_core.running.ledger{part}" for part in ("", "_outbox", "_schedules", "_series")),
        *("aisbench_core.strict_yaml", "aisbench_core.warehouse", "aisbench_core.web.addresses"),
        *BELOW,
    ),
    "aisbench_core/annotations.py": (
        "aisbench_core.results.record",
        *(f"aisbench_core.running.{name}" for name in ("ledger", "publishing", "run_paths")),
        "aisbench_core.warehouse",
        *BELOW,
    ),
    "aisbench_core/run_names.py": ("aisbench_core.annotations", "aisbench_core.authoring", *BELOW),
    "aisbench_core/regions.py": ("aisbench_core.cloud.ports", "aisbench_core.cloud.probes", *BELOW),
    "aisbench_core/region_files.py": ("aisbench_core.cloud.ports", *BELOW),
    "aisbench_core/region_resources.py": ("aisbench_core.cloud.ports", "aisbench_core.regions", *BELOW),
    "aisbench_core/health.py": ("aisbench_core.cloud.ports", "aisbench_core.running", *BELOW),
    "aisbench_core/doctor": (
        *(f"aisbench_core.cloud.{name}" for name in ("addresses", "ports", "probes")),
        *(f"aisbench_core.{name}" for name in ("concurrent_checks", "data_folder", "doctor", "running", "sdk_package")),
        *BELOW,
    ),
    "aisbench_core/concurrent_checks.py": (),
    "aisbench_core/console_log.py": ("aisbench_core.errors", "aisbench_core.private_files"),
    "aisbench_core/formats.py": (),
    "aisbench_core/running": (
        "aisbench_core.authoring",
        *("aisbench_core.cloud.ports", "aisbench_core.job_secrets", "aisbench_core.liveness"),
        "aisbench_core.logs.lines",
        "aisbench_core.results",
        *(f"aisbench_core.{name}" for name in ("running", "progress.points", "progress.watch")),
        *("aisbench_core.preflight", "aisbench_core.summaries", "aisbench_core.tokens.token"),
        "aisbench_core.regions",
        *BELOW,
    ),
    "aisbench_core/tokens": ("aisbench_core.running.ledger_tokens", "aisbench_core.tokens", *BELOW),
    "aisbench_core/liveness": ("aisbench_core.liveness", *BELOW),
    "aisbench_core/progress": (
        *("aisbench_core.authoring", "aisbench_core.liveness", "aisbench_core.progress", "aisbench_core.regions"),
        *("aisbench_core.running.run_files", "aisbench_core.running.run_paths", "aisbench_core.warehouse"),
        *BELOW,
    ),
    "aisbench_core/summaries": (
        *("aisbench_core.cloud.ports", "aisbench_core.job_secrets", "aisbench_core.summaries"),
        *BELOW,
    ),
    "aisbench_core/logs": ("aisbench_core.logs", *BELOW),
    "aisbench_core/results": ("aisbench_core.cloud.ports", "aisbench_core.results", *BELOW),
    "aisbench_core/web": (
        *("aisbench_core.accounts", "aisbench_core.logs.archive", "aisbench_core.logs.reading", "aisbench_core.web"),
        *BELOW,
    ),
    "aisbench_core/preflight": (
        "aisbench_core.authoring",
        *("aisbench_core.cloud.ports", "aisbench_core.concurrent_checks", "aisbench_core.job_secrets"),
        *("aisbench_core.liveness", "aisbench_core.preflight"),
        "aisbench_core.sdk_package",
        "aisbench_core.regions",
        *BELOW,
    ),
    "aisbench_core/upstream": (
        "aisbench_core.authoring",
        "aisbench_core.preflight",
        "aisbench_core.profile_files",
        "aisbench_core.strict_yaml",
        "aisbench_core.upstream",
        *BELOW,
    ),
    "aisbench_core/authoring": (
        "aisbench_core.authoring",
        "aisbench_core.cloud.ports",
        "aisbench_core.progress.patterns",
        "aisbench_core.strict_yaml",
        *BELOW,
    ),
    "aisbench_core/importing/readers": (
        "aisbench_core.upstream.configs.contents",
        "aisbench_core.errors",
        "aisbench_core.importing.readers",
        "aisbench_core.mlflow",
        "aisbench_core.model",
        "aisbench_core.results.result_files",
        "aisbench_core.results.train_result_info",
    ),
    "aisbench_core/importing": (
        "aisbench_core.authoring.workloads",
        "aisbench_core.cloud.ports",
        *(f"aisbench_core.{name}" for name in ("importing", "regions", "results", "seals", "warehouse")),
        *(f"aisbench_core.running.{name}" for name in ("publishing", "run_paths", "steps")),
        *("aisbench_core.mlflow", "aisbench_core.upstream.configs.contents"),
        *BELOW,
    ),
    "aisbench_core/report": (
        *("aisbench_core.report", "aisbench_core.statistics", "aisbench_core.warehouse"),
        *BELOW,
    ),
    "aisbench_core/warehouse": (
        *(f"aisbench_core.{name}" for name in ("access", "changes", "errors", "liveness", "model")),
        *("aisbench_core.formats", "aisbench_core.private_files"),
        "aisbench_core.rulesets",
        "aisbench_core.statistics",
        "aisbench_core.warehouse",
    ),
    "aisbench_core/rulesets": (
        "aisbench_core.documents",
        "aisbench_core.errors",
        "aisbench_core.model",
        "aisbench_core.rulesets",
    ),
    "aisbench_core/mlflow": tuple(f"aisbench_core.{name}" for name in ("errors", "mlflow", "model", "warehouse")),
    "aisbench_core/statistics": ("aisbench_core.model", "aisbench_core.statistics"),
    "aisbench_core/cloud": ("aisbench_core.cloud", "aisbench_core.sdk_package", *BELOW),
    "aisbench_sandbox": ("aisbench_core.private_files", "aisbench_sandbox"),
    **{f"aisbench_core/{name}.py": ("aisbench_core.strict_yaml", *BELOW) for name in ("documents", "profile_files")},
    **{f"aisbench_core/{name}.py": BELOW for name in ("credentials", "data_folder", "job_secrets", "sdk_package")},
    "aisbench_core/private_files.py": ("aisbench_core.errors",),
    "aisbench_core/settings.py": BELOW,
    **{f"aisbench_core/{name}.py": () for name in ("strict_yaml", "value_errors")},
    "aisbench_core/access": (
        "aisbench_core.access",
        "aisbench_core.changes",
        "aisbench_core.errors",
        *("aisbench_core.model", "aisbench_core.private_files", "aisbench_core.value_errors"),
    ),
    "aisbench_core/accounts": (
        *("aisbench_core.accounts", "aisbench_core.running.ledger", "aisbench_core.running.stores"),
        *BELOW,
    ),
    "aisbench_core/changes.py": ("aisbench_core.model",),
    "aisbench_core/model": ("aisbench_core.model", "aisbench_core.value_errors"),
    "aisbench_core/errors.py": (),
    "aisbench_core/messages": (),
    "aisbench_core/__init__.py": (
        *("aisbench_core.client", "aisbench_core.storage", "aisbench_core.warehouse.open"),
        *("aisbench_core.warehouse.store.reading", *BELOW),
    ),
}
"""Each part of the product, and what it may import of the rest: these modules and what is inside them."""


@pytest.mark.parametrize("part", INSIDE)
def test_a_part_imports_only_what_it_may(part: str) -> None:
    foreign = {
        f"{path_of(file)} imports {name}"
        for file in files_of(part)
        for name in imports(file)
        if name.split(".")[0] in (PRODUCT, SANDBOX) and not is_inside(name, (*INSIDE[part], *EVERYWHERE))
    }

    assert foreign == set()


@pytest.mark.parametrize("part", ["app.py", "pages", "aisbench_core/wiring.py", "aisbench_core/health.py"])
def test_what_a_part_may_import_is_what_it_needs(part: str) -> None:
    used = {name for file in files_of(part) for name in imports(file)}

    needless = {
        each for each in INSIDE[part] if each not in BELOW and not any(is_inside(name, (each,)) for name in used)
    }

    assert needless == set()


def test_every_module_of_the_product_belongs_to_a_part() -> None:
    assert {path_of(file) for file in product() if _part(file) is None} == set()


@pytest.mark.parametrize("library", OUTSIDE)
def test_a_library_is_imported_only_where_it_belongs(library: str) -> None:
    wrong = {
        path_of(file)
        for file in product()
        if any(is_inside(name, (library,)) for name in imports(file)) and not lies_in(file, OUTSIDE[library])
    }

    assert wrong == set()


def _part(file: Path) -> str | None:
    return next((part for part in INSIDE if lies_in(file, (part,))), None)
