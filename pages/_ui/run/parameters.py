"""What a run's job was given: hyperparameters, variables, software, and its directories."""

from collections.abc import Iterable

import streamlit as st

from aisbench_core.base.formats import MISSING, format_size
from aisbench_core.model import Resolved, ResolvedContent, Run
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def show_parameters(run: Run) -> None:
    """As they were sent; of secret variables only the names."""
    with st.expander(t("run.parameters"), icon=":material/tune:"), errors_shown():
        found = core().files.read_resolved(run.run_id)
        rows = [
            {"kind": kind, "name": name, "value": value or MISSING}
            for kind, name, value in _list_parameters(run, found)
        ]
        titles = {"kind": t("run.kind"), "name": t("compare.field"), "value": t("import.value")}
        show_table(rows, titles, t("run.parameters"), widths={"value": "large"})


def _list_parameters(run: Run, found: Resolved) -> Iterable[tuple[str, str, str]]:
    spec = run.spec
    for name, value in spec.parameters.items():
        content = f" (sha256:{sha256})" if (sha256 := found.file_hashes.get(name)) else ""
        yield t("run.hyperparameter"), name, f"{value}{content}"
    for name, value in {**spec.platform_variables, **spec.variables, **spec.environments}.items():
        yield t("run.variable"), name, str(value)
    for name in spec.secrets:
        yield t("run.secret"), name, "•••"
    image = spec.image_url or " ".join(filter(None, (spec.engine_name, spec.engine_version)))
    yield t("run.software"), t("run.image"), image
    if found.image:
        yield t("run.software"), t.field("image_digest"), found.digest or t.message(found.image.why_unknown)
    if found.code:
        content = found.code.sha256 or t.message(found.code.why_unknown)
        yield t("run.software"), t.field("algorithm_sha256"), content
    yield t("run.software"), t.field("boot_file"), spec.boot_file
    for channel in spec.inputs:
        yield t("run.input"), channel.name, channel.path
        if data := found.inputs.get(channel.name):
            yield t("run.input"), t("run.data_of", name=channel.name), _describe_data(data)
    for channel in spec.outputs:
        yield t("run.output"), channel.name, channel.path


def _describe_data(found: ResolvedContent) -> str:
    """How much there was of an input, and its hash; or why that is not known."""
    if not found.sha256:
        return t.message(found.why_unknown)
    hashed = {"size": format_size(found.size), "sha256": found.sha256}
    if found.objects == 1:
        return t("run.data_listed_one", **hashed)
    return t("run.data_listed", count=f"{found.objects:,}", **hashed)
