"""Whether a run, or a plan, is normal, as text and as JSON."""

from aisbench_core.interfaces.cli import display
from aisbench_core.warehouse.values.expected import ExpectedSpeed


def expected_text(found: ExpectedSpeed | None) -> str:
    """The sentence, and the claims below it; empty where nothing could be asked."""
    return "\n".join(filter(None, [found.sentence, found.claims])) if found else ""


def expected_json(found: ExpectedSpeed | None) -> dict[str, object] | None:
    names = ("unit", "band", "own_runs", "trusted_runs", "claimed", "normality", "sentence")
    return display.pick_fields(found, *names) if found else None
