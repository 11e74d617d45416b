"""Runs all checks of the doctor concurrently, within a time limit, and reports them in a fixed order."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from aisbench_core.base.concurrent_checks import run_concurrently
from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message, choose_plural
from aisbench_core.cloud.addresses import proxy_for
from aisbench_core.cloud.ports import Connect
from aisbench_core.cloud.probes import modelarts_trust, obs_proxy, obs_trust
from aisbench_core.config.settings import PROGRAM, Profile, Settings, load_profile
from aisbench_core.maintenance.doctor import machine
from aisbench_core.maintenance.doctor.diagnosis import CHECKS, Diagnosis, State
from aisbench_core.maintenance.doctor.servers import Server, check_name, check_route, check_server, host_names
from aisbench_core.model import Clock
from aisbench_core.store.ledger.ledger import Ledger

SECONDS = 20.0
PINS = PROGRAM / "constraints.txt"


class Doctor:
    """Checks this machine and its connection to a profile's region.

    Read-only, but for an object where run folders are published: it is written, read and deleted."""

    def __init__(
        self,
        settings: Settings,
        connect: Connect,
        clock: Clock,
        seconds: float = SECONDS,
        ledger: Ledger | None = None,
        run_folders: Callable[[], object] | None = None,
    ) -> None:
        """`seconds`: time limit for all checks together. `ledger`: a team's. `run_folders` tries to publish, and
        raises AisbenchError."""
        self._run_folders = run_folders
        self._ledger = ledger
        self._settings = settings
        self._connect = connect
        self._clock = clock
        self._seconds = seconds

    def examine(self, name: str = "") -> list[Diagnosis]:
        """All diagnoses for a profile (empty: the default one), in the order of CHECKS.

        A profile that cannot be loaded is a diagnosis, too; only the checks that need none are made then."""
        try:
            profile = load_profile(self._settings, name or self._settings.profile)
        except AisbenchError as error:
            broken = Diagnosis("profile", State.FAIL, error.message, error.hint)
            data = machine.check_data_folder(self._settings)
            ledger = machine.check_ledger(self._ledger.last_beat, self._ledger.clock_ahead) if self._ledger else ()
            return [broken, *data, *ledger, *machine.check_libraries(PINS), *machine.check_loopback()]
        checks = self._collect_checks(profile)
        results: dict[str, Sequence[Diagnosis]] = {}
        for check, answer in run_concurrently(checks, self._seconds):
            if isinstance(answer, BaseException):
                raise answer
            results[check] = answer
        # The threads of late checks go on: name resolution cannot be interrupted.
        for check in checks.keys() - results.keys():
            late = Message("no answer within {seconds:g} s", seconds=self._seconds)
            advice = Message("check the network, its DNS server and the proxy")
            results[check] = (Diagnosis(check, State.FAIL, late, advice),)
        # One function may report several checks: check_server yields reach, tls and clock.
        order = list(CHECKS)
        diagnoses = (diagnosis for check in checks for diagnosis in results[check])
        return sorted(diagnoses, key=lambda diagnosis: order.index(diagnosis.check))

    def _collect_checks(self, profile: Profile) -> dict[str, Callable[[], Sequence[Diagnosis]]]:
        obs, modelarts, verify = profile.obs_server, profile.training_endpoint, profile.verify_tls
        obs_server = Server("obs", obs, obs_proxy(obs), obs_trust, verify)
        trust = partial(modelarts_trust, modelarts)
        modelarts_server = Server("modelarts", modelarts, proxy_for(modelarts), trust, verify)
        return {
            "profile": _defer_check(machine.check_addresses, profile),
            "keys": _defer_check(machine.check_keys, self._settings, profile),
            "data": _defer_check(machine.check_data_folder, self._settings),
            **(
                {"ledger": _defer_check(machine.check_ledger, self._ledger.last_beat, self._ledger.clock_ahead)}
                if self._ledger
                else {}
            ),
            **(
                {"run_folders": _defer_check(machine.check_run_folders, self._run_folders)} if self._run_folders else {}
            ),
            "library": lambda: tuple(self._check_libraries(profile)),
            "proxy.loopback": _defer_check(machine.check_loopback),
            "proxy.obs": _defer_check(check_route, obs_server),
            "proxy.modelarts": _defer_check(check_route, modelarts_server),
            **{check: _defer_check(check_name, check, host, profile) for check, host in host_names(profile).items()},
            "reach.obs": _defer_check(check_server, obs_server, self._clock),
            "reach.modelarts": _defer_check(check_server, modelarts_server, self._clock),
            "access.obs": _defer_check(self._check_access, profile, "obs"),
            "access.modelarts": _defer_check(self._check_access, profile, "modelarts"),
        }

    def _check_libraries(self, profile: Profile) -> Iterator[Diagnosis]:
        yield from machine.check_libraries(PINS)
        yield from machine.check_sdk(profile)
        yield from machine.check_ascend_fd(self._settings)

    def _check_access(self, profile: Profile, service: str) -> Iterator[Diagnosis]:
        try:
            cloud = self._connect(profile.name)
        except AisbenchError:  # no usable keys, which `keys` reports
            return
        check = f"access.{service}"
        try:
            if service == "obs":
                cloud.objects.first(cloud.profile.path(), 1)
                message = Message("the bucket {bucket} can be listed", bucket=cloud.profile.bucket)
            else:
                count = len(cloud.training.flavors())
                message = choose_plural(count, "{number} flavor is offered", "{number} flavors are offered")
        except AisbenchError as error:
            yield Diagnosis(check, State.FAIL, error.description, error.hint)
            return
        yield Diagnosis(check, State.OK, message)


def _defer_check(check: Callable[..., Iterator[Diagnosis]], *arguments: object) -> Callable[[], Sequence[Diagnosis]]:
    return lambda: tuple(check(*arguments))
