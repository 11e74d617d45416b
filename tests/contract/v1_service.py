"""The adapter of ModelArts' older API (v1), wherever a test wants it."""

from datetime import UTC, datetime

from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
from tests.contract.region import Region

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def service_at(place: Region, endpoint: str) -> ModelArtsV1:
    profile = place.profile.model_copy(update={"modelarts_endpoint": endpoint})
    return ModelArtsV1(profile, place.credentials, 5.0)
