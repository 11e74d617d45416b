"""What results to import are, and how many of them will count: each cause once, with the number of its results."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.exchange.importing.choices import Exclusion, Preview


@dataclass(frozen=True, slots=True)
class Understanding:
    """The results in numbers. `causes` keep results off the leaderboard, `limits` off other pages; the commonest first.

    `total`: how many results were read, of which `seen` were looked at."""

    total: int
    seen: int
    models: int
    versions: int
    flavors: int
    counting: int
    causes: tuple[tuple[Exclusion, int], ...]
    limits: tuple[tuple[Exclusion, int], ...]

    @property
    def contents(self) -> Message:
        """As "260 results: 3 models, 4 versions, 2 flavors"."""
        kinds = {
            choose_plural(self.models, "{number} model", "{number} models"): self.models,
            choose_plural(self.versions, "{number} version", "{number} versions"): self.versions,
            choose_plural(self.flavors, "{number} flavor", "{number} flavors"): self.flavors,
        }
        known = [kind for kind, number in kinds.items() if number]
        results = choose_plural(self.total, "{number} result", "{number} results")
        return Message("{results}: {kinds}", results=results, kinds=join_parts(", ", known)) if known else results

    @property
    def outcome(self) -> Message:
        """As "all usable"; of more results than were looked at, it is said of how many."""
        if self.seen < self.total:
            return Message("{number} of the first {seen} usable", number=self.counting, seen=self.seen)
        if self.counting == self.total:
            return Message("all usable")
        return Message("{number} usable", number=self.counting)

    @property
    def mended_by(self) -> tuple[str, ...]:
        """The answers about all results that can mend a cause or a limit, those of the commonest cause first."""
        return tuple(dict.fromkeys(name for cause, _ in (*self.causes, *self.limits) for name in cause.mended_by))


def understand_results(previews: Sequence[Preview], total: int) -> Understanding:
    """The results behind these previews, which may be the first of more."""
    facts = [(preview.record.workload.model, preview.record.run.spec) for preview in previews]
    return Understanding(
        total=total,
        seen=len(previews),
        models=len({model for model, _ in facts}),
        versions=len({spec.framework_version for _, spec in facts if spec.framework_version}),
        flavors=len({spec.flavor for _, spec in facts if spec.flavor}),
        counting=sum(not preview.causes for preview in previews),
        causes=_count_causes(cause for preview in previews for cause in preview.causes),
        limits=_count_causes(cause for preview in previews for cause in preview.limits),
    )


def _count_causes(causes: Iterable[Exclusion]) -> tuple[tuple[Exclusion, int], ...]:
    return tuple(Counter(causes).most_common())
