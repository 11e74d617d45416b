"""How much a page moves while it loads, by https://web.dev/articles/cls; what answers an input is no movement."""

from collections.abc import Callable

from tests.browser.visit import Visit

MOST_SHIFT = 0.1
"""Of a page that stays where it is."""

LOADS = 3
"""How often a page is loaded at most. What it moves by itself, it moves each time; on a busy machine Streamlit's own
placeholders stand for long, and some of them are of another size."""

WATCH = """
    window.layoutShift = 0, window.moves = [];
    const place = at => [at.x, at.y, at.width, at.height].map(Math.round).join(" ");
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) {
            window.layoutShift += entry.value;
            for (const {node, previousRect, currentRect} of entry.sources) window.moves.push(
                `${entry.value.toFixed(3)}: ${place(previousRect)} → ${place(currentRect)} ` +
                `${node?.className ?? ""} ${(node?.textContent ?? "").slice(0, 40)}`);
        }
    }).observe({type: "layout-shift", buffered: true})"""


def watch_shifts(visit: Visit) -> None:
    """Add up the movements of the pages that are loaded from now on."""
    visit.page.add_init_script(WATCH)


def read_shift(visit: Visit) -> float:
    """How much the page has moved since it was loaded."""
    shift: float = visit.page.evaluate("window.layoutShift")
    return shift


def list_moves(visit: Visit) -> list[str]:
    """Which elements moved from where to where, each with how much all moved that did so at the same time."""
    moves: list[str] = visit.page.evaluate("window.moves")
    return moves


def least_shift(load: Callable[[], float]) -> float:
    """The least movement of some loads, each of which returns its own; one that hardly moves is the last."""
    shift = load()
    for _ in range(LOADS - 1):
        if shift < MOST_SHIFT:
            break
        shift = min(shift, load())
    return shift
