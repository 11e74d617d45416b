"""Runs in which each server trained on its own: every server's result, and how far they differ."""

from collections.abc import Callable, Iterator, Mapping

import streamlit as st

from aisbench_core.base.formats import format_number, format_percent
from aisbench_core.warehouse.values.compared import Servers, ServerSpread
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def show_servers_of(run: RunRow) -> None:
    """The servers of one run; nothing for a cluster's."""
    servers = run_cached(core().warehouse.cards.find_servers, run.run_id)
    if servers:
        st.header(t("servers.title"))
    show_servers({run.run_id: servers} if servers else {}, {run.run_id: run.throughput_unit})


def show_servers(runs: Mapping[str, Servers], units: Mapping[str, str]) -> None:
    """The servers of one run, or of several side by side; nothing for clusters. Both are by run_id."""
    if not runs:
        return
    titles = {"server": t("servers.server")}
    for run_id in runs:
        titles |= dict(zip(_name_fields(run_id), _build_titles(run_id, runs, units), strict=True))
    show_table(_by_server(runs), titles, t("servers.title"))
    titles = {
        "what": t("servers.what"),
        "mean": t("servers.mean"),
        "sd": t("servers.sd"),
        "cv": t("servers.cv"),
        "lowest": t("servers.lowest"),
        "highest": t("servers.highest"),
        "measured": t("servers.measured"),
    }
    show_table(list(_list_spreads(runs, units)), titles, t("servers.spread"))
    st.caption(t("servers.legend"))


def _by_server(runs: Mapping[str, Servers]) -> list[dict[str, object]]:
    fields = [field for run_id in runs for field in _name_fields(run_id)]
    rows: dict[int, dict[str, object]] = {}
    for run_id, servers in runs.items():
        throughput, accuracy = _name_fields(run_id)
        for result in servers.results:
            row = rows.setdefault(result.server, {"server": result.server, **dict.fromkeys(fields, "")})
            row[throughput] = format_number(result.throughput)
            row[accuracy] = format_percent(result.accuracy)
    return [rows[server] for server in sorted(rows)]


def _name_fields(run_id: str) -> tuple[str, str]:
    return f"throughput of {run_id}", f"accuracy of {run_id}"


def _list_spreads(runs: Mapping[str, Servers], units: Mapping[str, str]) -> Iterator[dict[str, object]]:
    for run_id, servers in runs.items():
        throughput, accuracy = _build_titles(run_id, runs, units)
        yield _to_row(throughput, servers.throughput, len(servers.results), format_number)
        yield _to_row(accuracy, servers.accuracy, len(servers.results), format_percent)


def _to_row(
    title: str, spread: ServerSpread | None, servers: int, text: Callable[[float | None], str]
) -> dict[str, object]:
    summary = spread.summary if spread else None
    return {
        "what": title,
        "mean": text(summary.mean if summary else None),
        "sd": text(summary.sd if summary else None),
        "cv": format_percent(summary.cv if summary else None),
        "lowest": text(spread.lowest if spread else None),
        "highest": text(spread.highest if spread else None),
        "measured": t("servers.of", found=summary.count if summary else 0, all=servers),
    }


def _build_titles(run_id: str, runs: Mapping[str, Servers], units: Mapping[str, str]) -> tuple[str, str]:
    """For throughput and accuracy, naming the run where there are several."""
    prefix = "" if len(runs) == 1 else f"{run_id} · "
    return prefix + t("charts.throughput", unit=units[run_id]), prefix + t("board.accuracy")
