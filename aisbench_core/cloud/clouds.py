"""The clouds of profiles: the only module that names concrete adapters."""

import threading
from datetime import timedelta

from aisbench_core.base.clock import utc_now
from aisbench_core.cloud.ports import Cloud
from aisbench_core.config.credentials import Credentials, find_credentials
from aisbench_core.config.settings import Profile, Settings, load_profile
from aisbench_core.model import Api, Clock


class Clouds:
    """Clouds by profile; adapters are reused until the profile or its keys change."""

    def __init__(self, settings: Settings, request_seconds: float, machine: Clock = utc_now) -> None:
        self._settings = settings
        self._machine = machine
        self._request_seconds = request_seconds
        self._guard = threading.Lock()
        self._opened: dict[tuple[str, Api], tuple[Profile, Credentials, Cloud]] = {}

    def __call__(self, profile: str, api: Api | None = None) -> Cloud:
        """The cloud of a profile. Raises ConfigError when the profile or its keys cannot be used.

        `api`: the one that a run was launched with; None means the profile's own."""
        loaded = load_profile(self._settings, profile)
        keys = find_credentials(self._settings, loaded)
        chosen_api = api or loaded.api
        with self._guard:
            opened = self._opened.get((profile, chosen_api))
            if opened is None or opened[:2] != (loaded, keys):
                opened = (loaded, keys, self._open_cloud(loaded, keys, chosen_api))
                self._opened[profile, chosen_api] = opened
            return opened[2]

    def _open_cloud(self, profile: Profile, keys: Credentials, api: Api) -> Cloud:
        # The SDKs take a second to load, which commands that only read results should not pay.
        from aisbench_core.cloud.modelarts_package.sdk_v1_calls import SdkV1Calls
        from aisbench_core.cloud.modelarts_package.service import ModelArtsSdk
        from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
        from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
        from aisbench_core.cloud.obs.objects import ObsStore
        from aisbench_core.cloud.swr.registry import SwrRegistry

        seconds = self._request_seconds
        objects = ObsStore(profile, keys, self._settings.transfers, seconds, machine=self._machine)

        def ahead() -> timedelta | None:
            return objects.clock.ahead

        images = SwrRegistry(profile, keys, seconds)
        match api:
            case Api.V2:
                return Cloud(profile, objects, ModelArtsV2(profile, keys, seconds), images, ahead)
            case Api.V1:
                return Cloud(profile, objects, ModelArtsV1(profile, keys, seconds), images, ahead)
            case Api.SDK:
                return Cloud(profile, objects, ModelArtsSdk(profile, keys, seconds), images, ahead)
            case Api.SDK_V1:
                return Cloud(profile, objects, ModelArtsV1(profile, keys, seconds, SdkV1Calls), images, ahead)
