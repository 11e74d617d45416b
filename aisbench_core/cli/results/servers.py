"""Single-server runs as text: each server, the mean, and how far they lie apart."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import shown

if TYPE_CHECKING:
    from aisbench_core.warehouse.answers.compared import Servers, ServerSpread


def servers_text(servers: "Servers | None", unit: str) -> str:
    """A line for each server, and those of the spread; empty for a cluster's run."""
    if servers is None:
        return ""
    return f"servers\n{shown.indented(shown.table(('server', f'>throughput ({unit})', '>accuracy'), _rows(servers)))}"


def _rows(servers: "Servers") -> Iterator[tuple[str, str, str]]:
    for result in servers.results:
        yield str(result.server), formats.number(result.throughput), formats.number(result.accuracy)
    throughput, accuracy = _spread(servers.throughput), _spread(servers.accuracy)
    for name in throughput:
        yield name, throughput[name], accuracy[name]


def _spread(spread: "ServerSpread | None") -> dict[str, str]:
    names = ("mean", "sd", "CV", "lowest", "highest")
    if spread is None:
        return dict.fromkeys(names, formats.MISSING)
    told = spread.summary
    numbers = [formats.number(value) for value in (told.mean, told.sd, spread.lowest, spread.highest)]
    return dict(zip(names, (*numbers[:2], formats.percent(told.cv), *numbers[2:]), strict=True))
