"""Messages of a run's events: launched, moved to another state, retrying."""

from collections.abc import Mapping

from aisbench_core.messages import Message, joined
from aisbench_core.model import Run, RunState

_SAID: Mapping[RunState, Message] = {
    RunState.PREPARING: Message("preparing"),
    RunState.UPLOADING: Message("uploading"),
    RunState.SUBMITTING: Message("submitting"),
    RunState.QUEUED: Message("queued"),
    RunState.RUNNING: Message("running"),
    RunState.STOPPING: Message("stopping"),
    RunState.COLLECTING: Message("collecting"),
    RunState.COMPLETED: Message("completed"),
    RunState.FAILED: Message("failed"),
    RunState.STOPPED: Message("stopped"),
}


def launched(run: Run, described: int, reproduces: str) -> Message:
    """What was launched; `described`: the number of fields of the system description that it took over."""
    nodes, cards = run.spec.node_count, run.spec.cards_per_node
    parts = [
        Message("launched: {nodes} x {cards} cards, profile {profile}", nodes=nodes, cards=cards, profile=run.profile)
    ]
    if described:
        parts.append(Message("{count} kept fields of the system description taken over", count=described))
    if reproduces:
        parts.append(Message("reproduces {run_id}", run_id=reproduces))
    return joined("; ", parts)


def state_message(run: Run) -> Message:
    """The new state and its reason. Who stopped a run is part of the earlier event, when collecting began."""
    state = _SAID[run.state]
    return joined(": ", [state, run.detail]) if run.detail and run.state is not RunState.STOPPED else state


def retrying(trouble: Message) -> Message:
    """The detail of a run whose last step failed temporarily."""
    return Message("retrying: {trouble}", trouble=trouble)
