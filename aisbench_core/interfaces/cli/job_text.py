"""What `aisbench show` and `explain` print about a run's job: what happened to it, why, its attempts and stages."""

from datetime import datetime

from aisbench_core.base import formats
from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.liveness.stalls import Watch, sign_of_life
from aisbench_core.domain.results.card_samples import CardSummary
from aisbench_core.domain.results.job_events import alert_message, describe_interruption, recovery_text
from aisbench_core.interfaces.cli import display
from aisbench_core.model import JobDetails, JobStage, NodeDifference, Passport, Run, RunAttempt
from aisbench_core.running.diagnosing.cause import Explanation, FirstError

_MANY = ("package.", "environment.", "argument.")  # facts that only --json prints


def alert_text(run: Run, details: JobDetails, watch: Watch | None) -> str:
    """What somebody who watches the run should know first; empty if there is nothing."""
    alert = alert_of(run, details, watch)
    return f"{display.local_time(alert.at)}: {alert_message(alert)}" if alert else ""


def life_text(run: Run, watch: Watch | None, printed_at: datetime | None) -> str:
    """When a running job gave its last sign of life, and what to hold its silence against; empty if it is not known."""
    if watch is None or run.state != "running":
        return ""
    life = sign_of_life(watch, printed_at)
    longest, typical = (formats.format_duration(seconds) for seconds in (life.longest_s, life.typical_s))
    pauses = f"longest pause before {longest}, typical {typical}"
    return f"{display.local_time(life.at)}; {pauses}, a stall after {formats.format_duration(life.limit_s)}"


def queue_text(run: Run, details: JobDetails) -> str:
    """The run's place in its queue and what it waits for; empty if it does not wait."""
    if run.state != "queued":
        return ""
    last = details.queue[-1] if details.queue else None
    position = f"place {last.position} of {last.waiting}" if last else ""
    return ", ".join(filter(None, (position, details.waits_for.english if details.waits_for else "")))


def passport_text(passport: Passport) -> str:
    """On how many nodes it was captured, what they are, and a table of those that differ."""
    count = f"captured on {passport.nodes} of {passport.expected} nodes"
    shown = [(name, passport.facts[name]) for name in sorted(passport.facts) if not name.startswith(_MANY)]
    columns: display.Columns[NodeDifference] = {
        "node": lambda one: str(one.node),
        "host": lambda one: one.host,
        "differs in": lambda one: one.name,
        "value": lambda one: one.value or formats.MISSING,
        "others": lambda one: one.usual or formats.MISSING,
    }
    table = display.table_of(passport.differences, columns) if passport.differences else ""
    return "\n\n".join(filter(None, (f"{count}\n{display.format_fields(*shown)}", table)))


def details_text(details: JobDetails) -> str:
    """The platform's diagnosis, and the tables of attempts and stages."""
    blocks = (_format_diagnosis(details), _format_attempts(details), _format_stages(details))
    return "\n\n".join(filter(None, blocks))


def explanation_text(found: Explanation) -> str:
    """Why a run failed or hangs: cause, first error, advice and correction."""
    cause = found.cause
    changes = (
        f"{each.field}: {display.format_value(each.original)} → {display.format_value(each.now)}"
        for each in found.changes
    )
    text = display.format_fields(
        ("run", found.run_id),
        ("situation", str(found.situation)),
        ("cause", cause.text if cause else "unknown" if found.is_unknown else ""),
        ("confidence", str(cause.confidence) if cause else ""),
        ("found in", f"{cause.source} (rule {cause.rule})" if cause else ""),
        ("first error", _format_origin(found.error) if found.error else ""),
        ("what to do", cause.advice if cause else ""),
        ("correction", ", ".join(changes)),
        *(("manual", f"{link.title}: {link.url}") for link in (cause.links if cause else ())),
    )
    lines = found.error.lines if found.error else ()
    return "\n\n".join(filter(None, (text, display.indent_text("\n".join(lines)))))


def _format_origin(error: FirstError) -> str:
    parts = (("rank", error.rank), ("node", error.node), ("line", error.line))
    return ", ".join(f"{name} {number}" for name, number in parts if number is not None)


def cards_text(cards: list[CardSummary]) -> str:
    """The table of measured cards; empty if the script did not measure any."""
    if not cards:
        return ""
    columns: display.Columns[CardSummary] = {
        ">node": lambda card: str(card.node),
        ">card": lambda card: str(card.card),
        ">readings": lambda card: str(card.readings),
        ">cores in use": lambda card: _format_mean(card.core_use, "%"),
        ">most memory": lambda card: _format_mean(card.memory_used, "MB"),
        ">memory": lambda card: _format_mean(card.memory_total, "MB"),
        ">power": lambda card: _format_mean(card.power, "W"),
        ">hottest": lambda card: _format_mean(card.temperature, "°C"),
    }
    return f"cards\n{display.indent_text(display.table_of(cards, columns))}"


def _format_mean(value: float | None, unit: str) -> str:
    return formats.MISSING if value is None else f"{value:.0f} {unit}"


def _format_diagnosis(details: JobDetails) -> str:
    found = details.diagnosis
    if found is None:
        return ""
    title = " ".join(filter(None, ("diagnosis of the platform", f"({found.level})" if found.level else "")))
    if not found.faults:
        return f"{title}: {'no known fault' if found.is_complete else 'not completed'}"
    lines = [
        "\n".join((fault.code or formats.MISSING, *(f"  {name}: {text}" for name, text in fault.facts), *fault.sources))
        for fault in found.faults
    ]
    return f"{title}\n" + "\n".join(map(display.indent_text, lines))


def _format_attempts(details: JobDetails) -> str:
    # A single attempt without a fault is what its run says already.
    if not details.restarts and not any(attempt.reason for attempt in details.attempts):
        return ""
    columns: display.Columns[RunAttempt] = {
        ">attempt": lambda attempt: str(attempt.number),
        "started": lambda attempt: display.local_time(attempt.started_at),
        "ended": lambda attempt: display.local_time(attempt.ended_at),
        "because": lambda attempt: (
            describe_interruption(attempt) if attempt.reason or attempt.fault else formats.MISSING
        ),
        "then": lambda attempt: recovery_text(attempt) or formats.MISSING,
    }
    text = f"attempts\n{display.indent_text(display.table_of(details.attempts, columns))}"
    for attempt in details.attempts:
        lines = "\n".join(filter(None, (*attempt.last_words, attempt.last_event)))
        if lines:
            text += f"\n\nend of attempt {attempt.number}: last lines, last warning\n{display.indent_text(lines)}"
    return text


def _format_stages(details: JobDetails) -> str:
    if not details.stages:
        return ""
    columns: display.Columns[JobStage] = {
        ">attempt": lambda stage: str(stage.attempt),
        "stage": lambda stage: stage.english,
        "started": lambda stage: display.local_time(stage.started_at),
        ">took": lambda stage: formats.format_duration(_compute_seconds(stage)),
        "last step": lambda stage: stage.steps[-1].english if stage.steps else formats.MISSING,
    }
    return f"stages\n{display.indent_text(display.table_of(details.stages, columns))}"


def _compute_seconds(stage: JobStage) -> float | None:
    return (stage.ended_at - stage.started_at).total_seconds() if stage.started_at and stage.ended_at else None
