"""What the doctor says, as tests read it."""

from aisbench_core.base.clock import utc_now
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.config.settings import Settings
from aisbench_core.maintenance.doctor.diagnosis import Diagnosis, State
from aisbench_core.maintenance.doctor.examination import Doctor
from tests.flow.command_line import CommandLine

NAMED = {
    "region": "cn-central-221",
    "obs_server": "https://obs.cn-central-221.cloud.invalid",
    "modelarts_endpoint": "https://modelarts.cn-central-221.cloud.invalid",
}
"""A private cloud whose names no name server knows."""


def settings_of(shell: CommandLine) -> Settings:
    return Settings(data_dir=shell.data_dir, profile="lab", look_seconds=2)


def examined(shell: CommandLine, profile: str = "lab") -> dict[str, Diagnosis]:
    """The worst diagnosis of each check."""
    settings = settings_of(shell)
    found = Doctor(settings, Clouds(settings, settings.look_seconds), utc_now, 60).examine(profile)
    order = list(State)
    return {each.check: each for each in sorted(found, key=lambda each: order.index(each.state))}


def states(found: dict[str, Diagnosis]) -> dict[str, str]:
    return {check: str(each.state) for check, each in found.items() if each.state is not State.OK}
