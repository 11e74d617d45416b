"""What the platform said about the jobs of some runs: one that hangs after a restart, and one that lost a node."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from aisbench_core.model import (
    DiagnosedFault,
    EventKind,
    JobDetails,
    JobDiagnosis,
    JobEvent,
    JobFault,
    JobStage,
    JobTask,
    QueuePosition,
    RunAttempt,
    StageStep,
)

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
NODE = JobTask("worker-3", "10.0.0.3", "192.168.7.3", 137, "the node is faulty")
BROKEN = RunAttempt(
    *(1, AT, AT + timedelta(minutes=5), JobFault.NODE, "the node is faulty", "worker-3", "job_reschedule_with_taint"),
    tasks=(NODE,),
    last_event="Training job is restarted.",
    last_words=("step 7 loss 0.4", "HCCL timeout *rank 3*"),
)
AGAIN = RunAttempt(2, AT + timedelta(minutes=6))
HANG = JobEvent(
    AT + timedelta(minutes=9), "Warning", "suspected to be suspended", "Job", EventKind.HANG, "作业疑似卡死，请查看"
)
STAGES = (
    JobStage(1, "scheduling", "Scheduling", "调度", AT, AT, (StageStep(AT, "No free nodes.", "没有空闲节点。"),)),
    JobStage(2, "running", "Running", "运行", AT + timedelta(minutes=6)),
)
HUNG = JobDetails((HANG,), STAGES, (BROKEN, replace(AGAIN, tasks=(JobTask("worker-3", "10.0.0.4", "192.168.7.4"),))))
DIAGNOSIS = JobDiagnosis(
    is_complete=True,
    level="Error",
    faults=(
        DiagnosedFault("HCCL-17", (("class", "communication"), ("hint", "look at *rank 3*")), ("worker: worker-3",)),
    ),
)
INTERRUPTED = JobDetails((), STAGES[:1], (replace(BROKEN, recovery=""),), (QueuePosition(AT, 2, 5),), DIAGNOSIS)
