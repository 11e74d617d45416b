"""Explains runs of this console, from the files of their folders, and corrects their specs."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from aisbench_core.base.errors import AisbenchError, ConfigError, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.liveness.stalls import Watch
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.model import Finding, JobDetails, Level, Run, RunSpec, RunState, Scalar, find_differences
from aisbench_core.running import logs
from aisbench_core.running.diagnosing.ascend_fd import read_faults
from aisbench_core.running.diagnosing.cause import Confidence, Explanation, Fix, Situation
from aisbench_core.running.diagnosing.corrections import Known, fixes_of
from aisbench_core.running.diagnosing.explaining import (
    FoundCause,
    RunFacts,
    build_explanation,
    find_cause,
    situation_of,
)
from aisbench_core.running.diagnosing.log_clues import find_clues
from aisbench_core.running.diagnosing.rules import shipped_rules
from aisbench_core.running.job_watch import read_details
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.watches import WatchLedger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.run_paths import RunFolder

TAIL_LINES = 8
# Of more nodes, the last lines are not read: the node that failed is among the first, or has a cause in its log.
TAILED_NODES = 64
REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Causes:
    """Explains runs. Threads may share it: what was found is remembered until the run's files change."""

    folders: RunFolders
    ledger: Ledger
    watches: WatchLedger
    workloads: Workloads
    _remembered: OrderedDict[str, tuple[Hashable, Explanation]] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def situation(self, run: Run, details: JobDetails, watch: Watch | None) -> Situation:
        """Whether there is anything to explain. Reads nothing: a page asks so of healthy runs, again and again."""
        return situation_of(run, details, watch)

    def explain(self, run_id: str) -> Explanation:
        """Why a run failed or hangs. Raises RunNotFound."""
        run = self.ledger.get(run_id)
        return self._get_explanation(run, self.folders.read(run.run_id, FolderPart.RECORD, FolderPart.LOGS))

    def _get_explanation(self, run: Run, folder: RunFolder) -> Explanation:
        watch = self.watches.get(run.run_id) if run.state is RunState.RUNNING else None
        stamp = _build_stamp(run, folder, watch)
        with self._guard:
            known = self._remembered.get(run.run_id)
            if known and known[0] == stamp:
                return known[1]
        found = self._compute_explanation(run, folder, watch)
        with self._guard:
            self._remembered[run.run_id] = (stamp, found)
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return found

    def correct_spec(self, run_id: str) -> RunSpec:
        """The spec of a run, corrected. Raises RunNotFound, and ConfigError if there is no correction."""
        run = self.ledger.get(run_id)
        found = self.explain(run.run_id)
        if not found.fixes:
            raise ConfigError(
                Message("there is no correction for run {run_id}", run_id=run.run_id),
                Message("`aisbench explain {run_id}` says what to do", run_id=run.run_id),
            )
        return _with_fixes(run.spec, found.fixes)

    def sentence(self, run_id: str) -> Message | None:
        """The cause for a message about a failed run; None unless it is at least likely."""
        try:
            return _get_sentence(self.explain(run_id))
        except AisbenchError:  # a message without a cause is better than none
            return None

    def explain_here(self, run: Run) -> Explanation | None:
        """Why a run failed, from the files that are on this machine: lists show many runs, and fetch the logs of
        none. None if they cannot be read."""
        try:
            return self._get_explanation(run, self.folders.path(run.run_id))
        except AisbenchError:
            return None

    def sentence_here(self, run: Run) -> Message | None:
        """The cause for a list; None unless it is at least likely."""
        found = self.explain_here(run)
        return _get_sentence(found) if found else None

    def _compute_explanation(self, run: Run, folder: RunFolder, watch: Watch | None) -> Explanation:
        details = _read_job_details(folder)
        if situation_of(run, details, watch) is Situation.NOTHING:
            return Explanation(run.run_id, Situation.NOTHING)
        rules = shipped_rules()
        files = {node: folder.log(node) for node in logs.list_nodes(folder)}
        year = (run.started_at or run.created_at).year
        tails = {node: _read_tail(file) for node, file in [*files.items()][:TAILED_NODES]}
        facts = RunFacts(run, details, find_clues(files, rules, year), tails, watch, read_faults(folder))
        found = find_cause(facts, rules)
        explained = build_explanation(facts, found)
        fixes = self._find_fixes(run, found) if found and explained.cause else ()
        if not fixes:
            return explained
        changes = find_differences(run.spec, _with_fixes(run.spec, fixes))
        return replace(explained, fixes=fixes, changes=changes)

    def _find_fixes(self, run: Run, found: FoundCause) -> tuple[Fix, ...]:
        rule = shipped_rules().get(found.cause.rule)
        if rule is None or rule.correction is None:
            return ()
        defaults: Mapping[str, Scalar] = {}
        with suppress(AisbenchError):  # the workload is not installed here any more
            workload = self.workloads.get(run.spec.workload)
            defaults = workload.fill_spec(run.spec.model_copy(update={"parameters": {}})).parameters
        groups = found.hit.groups if found.hit else {}
        return fixes_of(rule.correction, run, Known(defaults, groups, self._find_earlier_spec(run)))

    def _find_earlier_spec(self, run: Run) -> RunSpec | None:
        """The spec of the newest run of its workload and profile that completed."""
        completed = self.ledger.page((RunState.COMPLETED,), run.spec.workload, 50, 0)
        same = (each for each in completed if (each.spec.workload, each.profile) == (run.spec.workload, run.profile))
        return next((each.spec for each in same), None)


def _get_sentence(found: Explanation) -> Message | None:
    cause = found.cause
    return cause.text if cause and cause.confidence is not Confidence.POSSIBLE else None


def _with_fixes(spec: RunSpec, fixes: tuple[Fix, ...]) -> RunSpec:
    return apply_fixes(spec, [Finding("correction", Level.WARNING, "", Message("corrected"), fix=fixes)])


def _read_job_details(folder: RunFolder) -> JobDetails:
    try:
        return read_details(folder)
    except ResultError:  # a damaged file leaves the logs
        return JobDetails()


def _read_tail(file: Path) -> tuple[str, ...]:
    return tuple(line[:400] for line in logs.read_tail(file, TAIL_LINES).splitlines() if line.strip())


def _build_stamp(run: Run, folder: RunFolder, watch: Watch | None) -> Hashable:
    """What an explanation depends on."""
    files = [folder.job, folder.ascend_fd, *(folder.log(node) for node in logs.list_nodes(folder))]
    there = [file.stat() for file in files if file.exists()]
    stalled_at = watch.stalled_at if watch else None
    return run.version, stalled_at, tuple((each.st_mtime_ns, each.st_size) for each in there)
