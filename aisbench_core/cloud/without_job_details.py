"""What adapters answer whose API tells nothing about a job beyond its status."""

from collections.abc import Sequence
from datetime import datetime

from aisbench_core.model import DiagnosisTask, EventLanguage, JobDiagnosis, JobEvent, JobStage, JobTask

# ruff: noqa: ARG002  # the arguments are those of TrainingService, which may be given by name


class WithoutJobDetails:
    """A base of adapters without events, stages, tasks and diagnoses of jobs."""

    def events(
        self, job_id: str, since: datetime | None = None, language: EventLanguage = EventLanguage.ENGLISH
    ) -> Sequence[JobEvent]:
        return ()

    def stages(self, job_id: str) -> Sequence[JobStage]:
        return ()

    def tasks(self, job_id: str, attempt: int = 0) -> Sequence[JobTask]:
        return ()

    def diagnosis(self, job_id: str) -> JobDiagnosis | None:
        return None

    def request_diagnosis(self, job_id: str) -> str | None:
        return None

    def diagnosis_tasks(self, job_id: str) -> Sequence[DiagnosisTask]:
        return ()
