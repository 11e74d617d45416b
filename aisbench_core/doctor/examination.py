"""Looks at everything at once, each thing within a time, and tells it in the order of the list of checks."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from aisbench_core.at_once import answers
from aisbench_core.cloud.addresses import proxy_for, split
from aisbench_core.cloud.probes import trust_of_modelarts, trust_of_obs, way_to_obs
from aisbench_core.doctor import machine
from aisbench_core.doctor.diagnosis import CHECKS, Diagnosis, State
from aisbench_core.doctor.names import hosts_of, is_private, look_at_name
from aisbench_core.doctor.servers import Server, look_at_server
from aisbench_core.errors import AisbenchError
from aisbench_core.model import Clock
from aisbench_core.running.steps import Cloud, Connect
from aisbench_core.settings import HOME, Profile, Settings, load_profile

SECONDS = 20.0
PINS = HOME / "constraints.txt"

Questions = dict[str, Callable[[], Sequence[Diagnosis]]]


class Doctor:
    """Looks at one profile's region from this machine. It changes nothing, here or there."""

    def __init__(self, settings: Settings, connect: Connect, clock: Clock, seconds: float = SECONDS) -> None:
        """`seconds`: how long the whole may take."""
        self._settings = settings
        self._connect = connect
        self._clock = clock
        self._seconds = seconds

    def examine(self, name: str = "") -> list[Diagnosis]:
        """Everything that can be looked at, in the order of CHECKS. A profile that cannot be used is a diagnosis."""
        wanted = name or self._settings.profile
        try:
            profile = load_profile(self._settings, wanted)
        except AisbenchError as error:
            broken = Diagnosis("profile", State.FAIL, error.message, error.hint)
            data = machine.check_data_folder(self._settings)
            return [broken, *data, *machine.look_at_libraries(PINS), *machine.look_at_loopback()]
        return self._answered(self._here(profile) | self._there(profile))

    def _here(self, profile: Profile) -> Questions:
        obs, modelarts = profile.obs_server, profile.training_endpoint
        return {
            "profile": _all(machine.look_at_addresses, profile),
            "keys": _all(machine.look_at_keys, self._settings, profile),
            "data": _all(machine.check_data_folder, self._settings),
            "library": lambda: (*machine.look_at_libraries(PINS), *machine.look_at_sdk(profile)),
            "proxy.loopback": _all(machine.look_at_loopback),
            "proxy.obs": _all(machine.look_at_way, "obs", obs, way_to_obs(obs), _in_the_house(obs)),
            "proxy.modelarts": _all(
                machine.look_at_way, "modelarts", modelarts, proxy_for(modelarts), _in_the_house(modelarts)
            ),
        }

    def _there(self, profile: Profile) -> Questions:
        obs, modelarts = profile.obs_server, profile.training_endpoint
        verify = profile.verify_tls
        obs_server = Server("obs", obs, way_to_obs(obs), trust_of_obs, verify)
        trust = partial(trust_of_modelarts, modelarts)
        modelarts_server = Server("modelarts", modelarts, proxy_for(modelarts), trust, verify)
        return {
            **{check: _all(look_at_name, check, host, profile) for check, host in hosts_of(profile).items()},
            "reach.obs": _all(look_at_server, obs_server, self._clock),
            "reach.modelarts": _all(look_at_server, modelarts_server, self._clock),
            "access.obs": _all(self._access, profile, "obs"),
            "access.modelarts": _all(self._access, profile, "modelarts"),
        }

    def _access(self, profile: Profile, service: str) -> Iterator[Diagnosis]:
        """Whether the keys open the door; without keys there is nothing to try."""
        try:
            cloud = self._connect(profile.name)
        except AisbenchError:
            return
        check = f"access.{service}"
        try:
            found = _objects(cloud) if service == "obs" else _flavors(cloud)
        except AisbenchError as error:
            yield Diagnosis(check, State.FAIL, error.what, error.hint)
            return
        yield Diagnosis(check, State.OK, found)

    def _answered(self, questions: Questions) -> list[Diagnosis]:
        known: dict[str, Sequence[Diagnosis]] = {}
        for check, answer in answers(questions, self._seconds):
            if isinstance(answer, BaseException):
                raise answer
            known[check] = answer
        for check in questions.keys() - known.keys():
            late = f"no answer within {self._seconds:g} s"
            known[check] = (Diagnosis(check, State.FAIL, late, "check the network, its name server and the proxy"),)
        order = list(CHECKS)
        return sorted((each for check in questions for each in known[check]), key=lambda each: order.index(each.check))


def _all(look: Callable[..., Iterator[Diagnosis]], *asked: object) -> Callable[[], Sequence[Diagnosis]]:
    return lambda: tuple(look(*asked))


def _in_the_house(address: str) -> bool:
    return is_private(split(address).hostname or "")


def _objects(cloud: Cloud) -> str:
    cloud.objects.first(cloud.profile.path(), 1)
    return f"the bucket {cloud.profile.bucket} can be listed"


def _flavors(cloud: Cloud) -> str:
    count = len(cloud.training.flavors())
    return f"{count} {'flavor is' if count == 1 else 'flavors are'} offered"
