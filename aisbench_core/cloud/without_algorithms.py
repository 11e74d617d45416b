"""What adapters answer whose API has no algorithms."""

from collections.abc import Sequence
from typing import NoReturn

from aisbench_core.base.errors import CloudRejected
from aisbench_core.base.messages import Message
from aisbench_core.model import Algorithm, JobRequest, SubscribedAlgorithm

# ruff: noqa: ARG002  # the arguments are those of TrainingService, which may be given by name


class WithoutAlgorithms:
    """A base of adapters without algorithms."""

    def algorithms(self) -> Sequence[Algorithm] | None:
        return None

    def algorithm(self, algorithm_id: str) -> Algorithm:
        _refuse_algorithms()

    def create_algorithm(self, job: JobRequest) -> Algorithm:
        _refuse_algorithms()

    def delete_algorithm(self, algorithm_id: str) -> None:
        _refuse_algorithms()

    def subscribed_algorithms(self) -> Sequence[SubscribedAlgorithm] | None:
        return None

    def subscribed_versions(self, subscription_id: str) -> Sequence[SubscribedAlgorithm]:
        _refuse_algorithms()


def _refuse_algorithms() -> NoReturn:
    message = Message("the API of this profile has no algorithms")
    raise CloudRejected(message, hint=Message("use a profile with api v2"), operation=Message("use algorithms"))
