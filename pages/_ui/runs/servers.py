"""Runs in which each server trained alone: every server's numbers, and how far they lie apart."""

from collections.abc import Callable, Iterator, Mapping

import streamlit as st

from aisbench_core.formats import number, percent
from aisbench_core.warehouse.answers.compared import Servers, ServerSpread
from aisbench_core.warehouse.values import RunRow
from pages._ui.shell.core import asked, core
from pages._ui.shell.words import Words, words


def show_servers_of(recorded: RunRow) -> None:
    """The servers of one run; nothing for a cluster's."""
    servers = asked(core().warehouse.servers, recorded.run_id)
    show_servers({recorded.run_id: servers} if servers else {}, {recorded.run_id: recorded.throughput_unit})


def show_servers(found: Mapping[str, Servers], units: Mapping[str, str]) -> None:
    """The servers of one run, or of several side by side; nothing for clusters. Both are by run_id."""
    if not found:
        return
    t = words()
    st.header(t("servers.title"))
    st.dataframe(_by_server(found, units, t), hide_index=True, alt=t("servers.title"), height="content")
    st.dataframe(list(_spreads(found, units, t)), hide_index=True, alt=t("servers.spread"), height="content")
    st.caption(t("servers.legend"))


def _by_server(found: Mapping[str, Servers], units: Mapping[str, str], t: Words) -> list[dict[str, object]]:
    rows: dict[int, dict[str, object]] = {}
    for run_id, servers in found.items():
        for result in servers.results:
            row = rows.setdefault(result.server, {t("servers.server"): result.server})
            row[_name(run_id, found, t("charts.throughput", unit=units[run_id]))] = number(result.throughput)
            row[_name(run_id, found, t("board.accuracy"))] = percent(result.accuracy)
    names = dict.fromkeys(name for row in rows.values() for name in row)
    return [dict.fromkeys(names, "") | rows[server] for server in sorted(rows)]


def _spreads(found: Mapping[str, Servers], units: Mapping[str, str], t: Words) -> Iterator[dict[str, object]]:
    for run_id, servers in found.items():
        throughput = _name(run_id, found, t("charts.throughput", unit=units[run_id]))
        accuracy = _name(run_id, found, t("board.accuracy"))
        yield _spread(throughput, servers.throughput, len(servers.results), number, t)
        yield _spread(accuracy, servers.accuracy, len(servers.results), _share, t)


def _spread(
    name: str, spread: ServerSpread | None, servers: int, shown: Callable[[float | None], str], t: Words
) -> dict[str, object]:
    told = spread.summary if spread else None
    return {
        t("servers.what"): name,
        t("servers.mean"): shown(told.mean if told else None),
        t("servers.sd"): shown(told.sd if told else None),
        t("servers.cv"): _share(told.cv if told else None),
        t("servers.lowest"): shown(spread.lowest if spread else None),
        t("servers.highest"): shown(spread.highest if spread else None),
        t("servers.measured"): t("servers.of", found=told.count if told else 0, all=servers),
    }


def _share(value: float | None) -> str:
    return percent(value)


def _name(run_id: str, found: Mapping[str, Servers], what: str) -> str:
    return what if len(found) == 1 else f"{run_id} · {what}"
