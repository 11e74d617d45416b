"""Trees of runs: what a run came from, and what came from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aisbench_core.model import Run
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.lineage import LineageLedger, Parent, ParentKind

MOST_NODES = 50
MOST_READ = 1000

_ORDER = list(ParentKind)


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A run in a tree, `depth` steps from its first run. `kind`: what it is to the run above it; None of the first.
    `run`: None if the ledger does not have it."""

    run_id: str
    depth: int
    kind: ParentKind | None
    run: Run | None


@dataclass(frozen=True, slots=True)
class LineageTree:
    """Runs that came from one run, each below the one that it came from. `left_out`: how many more there are."""

    nodes: Sequence[LineageNode]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Lineages:
    """Reads trees of runs. `find_reproduced`: the id of the run that one reproduces, or empty; a launch before this
    was stored in the ledger says so in the run's folder only."""

    ledger: Ledger
    lineage: LineageLedger
    find_reproduced: Callable[[str], str]

    def read_tree(self, run_id: str) -> LineageTree:
        """The tree around a run, with MOST_NODES at most: those that lead to it, then those below it, then others."""
        found, first = self._read_line(run_id)
        below = self.lineage.list_below(run_id, MOST_READ)
        for child, parent in (*below, *self.lineage.list_below(first, MOST_READ)):
            found.setdefault(child, parent)
        found.pop(first, None)
        chosen = dict(list(found.items())[: MOST_NODES - 1])
        nodes = [self._make_node(*each) for each in _iterate_tree(first, chosen)]
        return LineageTree(nodes, len(found) - len(chosen))

    def _read_line(self, run_id: str) -> tuple[dict[str, Parent], str]:
        """The runs that lead to a run, each with what it came from, and the first of them."""
        line: dict[str, Parent] = {}
        first = run_id
        while len(line) < MOST_NODES - 1 and (parent := self._find_parent(first)) and parent.run_id not in line:
            line[first] = parent
            first = parent.run_id
        return dict(reversed(line.items())), first

    def _find_parent(self, run_id: str) -> Parent | None:
        """What a run came from; of several, what it goes on from counts most."""
        parents = self.lineage.list_parents(run_id) or list(self._list_unstored(run_id))
        return min(parents, key=lambda parent: _ORDER.index(parent.kind), default=None)

    def _list_unstored(self, run_id: str) -> Iterator[Parent]:
        run = self.ledger.find(run_id)
        if run and run.spec.resume_from:
            yield Parent(run.spec.resume_from, ParentKind.RESUME)
        if reproduced := self.find_reproduced(run_id):
            yield Parent(reproduced, ParentKind.REPRODUCTION)

    def _make_node(self, run_id: str, depth: int, kind: ParentKind | None) -> LineageNode:
        run: Run | None = self.ledger.find(run_id) if self.ledger.has(run_id) else None
        return LineageNode(run_id, depth, kind, run)


def _iterate_tree(root: str, parents: Mapping[str, Parent]) -> Iterator[tuple[str, int, ParentKind | None]]:
    """Each run below the one that it came from, the older of several first."""
    children: dict[str, list[str]] = {}
    for run_id in sorted(parents, reverse=True):
        children.setdefault(parents[run_id].run_id, []).append(run_id)
    waiting: list[tuple[str, int]] = [(root, 0)]
    while waiting:
        run_id, depth = waiting.pop()
        yield run_id, depth, parents[run_id].kind if run_id in parents else None
        waiting += [(child, depth + 1) for child in children.get(run_id, [])]
