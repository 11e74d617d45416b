"""Settings, profiles and credentials; the only reader of the environment.

Settings come from one file (`aisbench.yaml` in the home directory of the console) and from `AISBENCH_*` variables,
which win. A profile says where to run and holds no secret.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from aisbench_core.base.documents import Address, parse_document, read_yaml
from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.file_names import readable_name
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.config.identity import (
    HEADER_NAME,
    ISSUER,
    Identity,
    Network,
    make_validator,
    parse_networks,
    parse_roles,
)
from aisbench_core.model import Api, Frozen, Role

_PACKAGES = Path(__file__).resolve().parents[2]
_INSTALLED = _PACKAGES / "aisbench_console"  # made by setup.py

PROGRAM = _INSTALLED if _INSTALLED.is_dir() else _PACKAGES
"""The folder of app.py, pages and workloads: the checkout, or one beside this package."""


def _find_home() -> Path:
    if PROGRAM == _PACKAGES:
        return PROGRAM
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "aisbench"


HOME = _find_home()
"""The folder of settings and data that are not named: the checkout, or of an installed package one of the user's."""

SECRETS_FILE = HOME / ".streamlit" / "secrets.toml"
PUBLIC_CONSOLE = "https://console.huaweicloud.com"


def _from_home(path: Path) -> Path:
    try:
        return HOME / path.expanduser()
    except RuntimeError:  # ~name of a user that does not exist here
        raise ValueError(Message("refers to the home directory of an unknown user")) from None


Folder = Annotated[Path, AfterValidator(_from_home)]
"""A directory. A relative one starts at HOME: programs that work together are not started in the same directory."""


def _obs_directory(text: str) -> str:
    if text and not re.fullmatch(r"obs://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._=-]+)*/?", text):
        raise make_refusal(Message("must be obs://bucket/prefix"))
    return text


def _parse_folders(text: str) -> tuple[Path, ...]:
    return tuple(Path(part.strip()) for part in text.split(",") if part.strip())


class _DataPath:
    """A file or folder in the data folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, settings: "Settings", owner: type) -> Path:
        return settings.data_dir / self._name


class Settings(Frozen):
    """How this console works. Every field can be set in `aisbench.yaml` or as `AISBENCH_<FIELD>`."""

    model_config = ConfigDict(allow_inf_nan=False, ignored_types=(_DataPath,))

    data_dir: Annotated[Folder, Field(description="Folder of runs, ledger and warehouse.")] = HOME / "data"
    workloads_dir: Annotated[Folder, Field(description="Folder of the included workloads.")] = PROGRAM / "workloads"
    profile: Annotated[str, Field(description="Default profile.")] = "sandbox"
    language: Annotated[str, Field(pattern="^(en|zh)$", description="Default language of the console.")] = "en"
    host: Annotated[str, Field(description="Address that the console listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port of the console.")] = 8501
    allow_network_access_without_sign_in: Annotated[bool, Field(description="Let other machines connect.")] = False
    identity: Annotated[Identity, Field(description="How the console identifies people.")] = Identity.NONE
    trusted_proxies: Annotated[
        str,
        AfterValidator(make_validator(parse_networks)),
        Field(description="Addresses or networks of that proxy, with commas."),
    ] = ""
    identity_user_header: Annotated[str, Field(pattern=HEADER_NAME, description="Its header with the name.")] = (
        "X-Forwarded-User"
    )
    identity_groups_header: Annotated[str, Field(pattern=HEADER_NAME, description="Its header with the groups.")] = (
        "X-Forwarded-Groups"
    )
    oidc_issuer: Annotated[str, Field(pattern=ISSUER, description="The provider, as its metadata names it.")] = ""
    oidc_client_id: Annotated[str, Field(description="The console's id at the provider.")] = ""
    oidc_scopes: Annotated[
        str, Field(pattern=r"(^| )openid( |$)", description="Scopes requested from the provider.")
    ] = "openid profile email"
    oidc_name_claim: Annotated[str, Field(min_length=1, description="Claim with the name.")] = "preferred_username"
    oidc_groups_claim: Annotated[str, Field(min_length=1, description="Claim with the groups.")] = "groups"
    oidc_acr_values: Annotated[str, Field(description="Accepted acr values, separated by spaces; one is required.")] = (
        ""
    )
    oidc_amr_values: Annotated[str, Field(description="Required amr values, separated by spaces.")] = ""
    group_roles: Annotated[
        str,
        AfterValidator(make_validator(parse_roles)),
        Field(description="Roles of groups, such as lab-admins=admin, perf=engineer."),
    ] = ""
    session_idle_minutes: Annotated[int, Field(ge=1, le=10080, description="An idle session ends after this.")] = 480
    session_hours: Annotated[int, Field(ge=1, le=168, description="A session ends after this.")] = 24
    tls_certificate: Annotated[
        str, Field(description="PEM file with the console's certificate, and those above it, for https.")
    ] = ""
    tls_key: Annotated[str, Field(description="PEM file with its key, which only its owner may read.")] = ""
    public_url: str = Field(
        default="", pattern=r"^(https?://[^/\s]+/?)?$", description="Address behind a reverse proxy."
    )
    ledger: Annotated[
        str, Field(description="Runs and accounts: empty (ledger.sqlite3 in data_dir), or postgresql://… of a team.")
    ] = ""
    warehouse: Annotated[
        str,
        Field(description="Results: a file (none: warehouse.duckdb in data_dir), or ducklake:postgres:… of a team."),
    ] = ""
    warehouse_data: Annotated[str, Field(description="Files of a team warehouse: s3://bucket/prefix.")] = ""
    warehouse_profile: str = Field(
        default="", description="Profile with OBS and keys for warehouse_data; none: profile."
    )
    run_folders: Annotated[
        str,
        AfterValidator(_obs_directory),
        Field(description="Run folders on OBS for several machines: obs://bucket/prefix; none: data_dir only."),
    ] = ""
    run_folders_profile: str = Field(
        default="", description="Profile with OBS and keys for run_folders; none: profile."
    )
    head_directory: Annotated[
        str,
        AfterValidator(_obs_directory),
        Field(description="Where the audit's signed head goes daily: obs://bucket/prefix; none: nowhere."),
    ] = ""
    timestamp_url: Annotated[
        str, Field(pattern=r"^(https?://\S+)?$", description="RFC 3161 server that stamps heads; none: no stamps.")
    ] = ""
    timestamp_certificates: Annotated[str, Field(description="PEM file with the certificates of its authority.")] = ""
    ruleset: Annotated[str, Field(description="Decides validity: see `aisbench ruleset list`.")] = "aisbench/1"
    code_folders: Annotated[
        str, Field(description="More folders from which non-admins may launch code, separated by commas.")
    ] = ""
    keep_jobs_days: Annotated[int, Field(ge=0, le=36500, description="Retention of jobs; 0: for ever.")] = 0
    keep_outputs_days: Annotated[int, Field(ge=0, le=36500, description="Retention of outputs in OBS.")] = 0
    keep_logs_days: Annotated[int, Field(ge=0, le=36500, description="Retention of logs in OBS.")] = 0
    keep_folders_days: Annotated[int, Field(ge=0, le=36500, description="Retention of files of runs here.")] = 0
    keep_audit_days: Annotated[int, Field(ge=0, le=36500, description="Retention of the audit; 0: for ever.")] = 0
    launches_per_hour: Annotated[
        int, Field(ge=0, le=100_000, description="Runs that a person may launch within an hour; 0: any number.")
    ] = 0
    runs_at_once: Annotated[
        int, Field(ge=0, le=100_000, description="Active runs that a person may have; 0: any number.")
    ] = 0
    operations_at_once: Annotated[
        int, Field(ge=0, le=100, description="Exports, reports, imports of a person under way; 0: any number.")
    ] = 4
    uploads_most_mb: Annotated[
        int, Field(ge=0, le=100_000, description="Uploads of all open pages of a person, in MB; 0: any size.")
    ] = 2000
    import_most_mb: Annotated[
        int, Field(ge=0, le=100_000, description="Files of one import, in MB, as they are; 0: any size.")
    ] = 0
    export_most_runs: Annotated[int, Field(ge=0, description="Runs of one export; 0: any number.")] = 0
    approval_days: Annotated[
        int, Field(ge=1, le=365, description="A launch that nobody approves is stopped after this.")
    ] = 7
    summaries_most_mb: Annotated[
        int, Field(ge=0, le=100_000, description="Event files fetched of a run, in MB; 0: none.")
    ] = 64
    ascend_fd_venv: Annotated[
        str, Field(description="Virtual environment with ascend-fd, which then explains failed runs.")
    ] = ""
    notify_private_addresses: Annotated[bool, Field(description="Notify recipients at private addresses.")] = False
    poll_seconds: Annotated[float, Field(gt=0, le=600, description="Polling interval of jobs.")] = 5.0
    retry_first_seconds: Annotated[float, Field(gt=0, description="Delay before the first retry.")] = 2.0
    retry_most_seconds: Annotated[float, Field(gt=0, description="Longest delay between retries.")] = 300.0
    console_follows: Annotated[bool, Field(description="Follow runs in the console while nobody else does.")] = True
    tick_seconds: Annotated[float, Field(gt=0, le=60, description="Polling interval of the ledger.")] = 0.5
    follower_threads: Annotated[int, Field(ge=1, le=64, description="Runs worked on at once.")] = 8
    transfers: Annotated[int, Field(ge=1, le=256, description="Concurrent uploads or downloads.")] = 32
    request_seconds: Annotated[float, Field(gt=0, description="Time-out of a request to the cloud.")] = 60.0
    look_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, description="Time-out while a user waits.")] = 8.0

    ledger_path = _DataPath("ledger.sqlite3")  # the run ledger (SQLite)
    audit_heads_path = _DataPath("audit-heads.json")  # the newest entry of the audit that this console has seen
    signing_key_path = _DataPath("signing-key.pem")  # the key that signs evidence; made at first use, in no backup
    series_dir = _DataPath("series")  # one file for each series, with its plan
    runs_dir = _DataPath("runs")  # one folder per run: everything that the warehouse can be rebuilt from
    own_workloads_dir = _DataPath("workloads")  # the user's own workloads, found beside the shipped ones
    software_dir = _DataPath("software")  # packages of CANN, MindSpore and protobuf that forms offer by name
    systems_dir = _DataPath("systems")  # holds the system descriptions that new runs take over, by profile
    rulesets_dir = _DataPath("rulesets")  # the lab's own rulesets, found beside the shipped ones
    suites_dir = _DataPath("suites")  # the lab's own suites of acceptances, found beside the shipped ones
    chips_path = _DataPath("chips.yaml")  # the lab's own chips and peaks, joined to the shipped ones
    follower_lock = _DataPath("follower.lock")  # held by the one process that follows runs
    profiles_dir = _DataPath("profiles")  # one YAML file per profile
    credentials_path = _DataPath("credentials.yaml")  # keys by profile name; must be readable by its owner only

    notifications_path = _DataPath("notifications.yaml")  # channels by name; readable by its owner only

    @field_validator("code_folders")
    @classmethod
    def _without_data(cls, text: str, info: ValidationInfo) -> str:
        """A job can print what may be launched."""
        data = Path(info.data.get("data_dir", HOME / "data")).resolve()
        for folder in _parse_folders(text):
            if not folder.is_absolute():
                raise make_refusal(Message("must be absolute paths, separated by commas"))
            if data.is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(data):
                raise make_refusal(Message("must not hold the data folder, or lie in it: jobs could print its keys"))
        return text

    @property
    def shared_code(self) -> tuple[Path, ...]:
        """Further folders whose code everybody who may launch may launch."""
        return _parse_folders(self.code_folders)

    @property
    def summaries_most_bytes(self) -> int:
        """The limit of event files of a run in bytes."""
        return self.summaries_most_mb * 1024 * 1024

    @property
    def needs_sign_in(self) -> bool:
        """Whether people are told apart at all."""
        return self.identity is not Identity.NONE

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        """Where the proxy that says who somebody is connects from."""
        return parse_networks(self.trusted_proxies)

    @property
    def roles_of_groups(self) -> Mapping[str, Role]:
        """The role that each group of the sign-in gives."""
        return parse_roles(self.group_roles)

    @property
    def has_team_ledger(self) -> bool:
        """Whether runs and accounts are in a database that a team shares."""
        return bool(self.ledger)

    @property
    def warehouse_path(self) -> Path:
        """The file of a results warehouse (DuckDB) that is no team's."""
        if self.warehouse and not self.has_team_warehouse:
            return _from_home(Path(self.warehouse))
        return self.data_dir / "warehouse.duckdb"

    @property
    def has_team_warehouse(self) -> bool:
        """Whether results go to a database that a team shares."""
        return self.warehouse.startswith("ducklake:")


class Profile(Frozen):
    """Where to run: a region's addresses, the project, the bucket. It holds no secret."""

    model_config = ConfigDict(allow_inf_nan=False)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="the file's name; can be omitted")]
    region: Annotated[str, Field(min_length=1, description="the region's id, as the cloud writes it")]
    project_id: Annotated[str, Field(min_length=1, description="the project's id in the region (My Credentials)")]
    obs_server: Annotated[str, Field(min_length=1, description="OBS address, with scheme, and port if not the default")]
    modelarts_endpoint: Address = Field(default="", description="empty: https://modelarts.<region>.myhuaweicloud.com")
    swr_endpoint: Annotated[
        Address, Field(description="SWR, which keeps images; empty: https://swr-api.<region>.myhuaweicloud.com")
    ] = ""
    console_url: Annotated[
        Address,
        Field(
            description="the cloud's own console; empty: https://console.huaweicloud.com; "
            "of an international account: https://console-intl.huaweicloud.com"
        ),
    ] = ""
    iam_endpoint: Address = Field(
        default="", description="for the package of api sdk only; IAM is not called otherwise"
    )
    obs_endpoint: Annotated[Address, Field(description="private clouds: for the package of api sdk only")] = ""
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", description="an existing bucket")]
    prefix: Annotated[str, Field(description="directory in the bucket for everything the console writes")] = "aisbench"
    api: Annotated[Api, Field(description="how jobs are created: by API v2, the older v1, or a package")] = Api.V2
    sdk_venv: Annotated[str, Field(description="api sdk, sdk-v1: virtual environment of the package")] = ""
    workspace_id: Annotated[str, Field(description="ModelArts workspace; 0 is the default one")] = "0"
    pool_id: Annotated[str, Field(description="dedicated pool for specs with neither pool nor flavor")] = ""
    flavor: Annotated[str, Field(description="flavor for specs with neither pool nor flavor")] = ""
    verify_tls: Annotated[bool, Field(description="verify certificates")] = True
    credentials_file: Annotated[str, Field(description="a file with access_key and secret_key, mode 0600")] = ""
    rehearsal: Annotated[bool, Field(description="results are rehearsals, not measurements")] = False
    caution: Annotated[str, Field(description="a warning for Health and the doctor, written by the sandbox")] = ""
    caution_zh: Annotated[str, Field(description="the same warning for Chinese pages")] = ""
    currency: Annotated[str, Field(description="currency of the prices")] = "CNY"
    price_per_node_hour: Annotated[
        dict[str, Annotated[float, Field(ge=0)]],
        Field(default_factory=dict, description="your prices by flavor; a run keeps that of its launch"),
    ]

    @property
    def training_endpoint(self) -> str:
        """The ModelArts address."""
        return self.modelarts_endpoint or self._build_address("modelarts")

    @property
    def registry_endpoint(self) -> str:
        """The address of SWR; empty where it is not known."""
        return self.swr_endpoint or (self._build_address("swr-api") if self._is_public else "")

    def job_page(self, job_id: str) -> str:
        """A job's page in the cloud's console, with its CloudShell; empty where that console is not known."""
        console = self.console_url or (PUBLIC_CONSOLE if self._is_public else "")
        region, job = quote(self.region, safe=""), quote(job_id, safe="")
        return f"{console.rstrip('/')}/modelarts/?region={region}#/training/detail/{job}" if console else ""

    @property
    def _is_public(self) -> bool:
        """Whether the region is one of the public cloud, so that its other addresses follow from its name."""
        return self.training_endpoint.rstrip("/") == self._build_address("modelarts")

    def _build_address(self, service: str) -> str:
        return f"https://{service}.{self.region}.myhuaweicloud.com"

    def path(self, *parts: str) -> str:
        """An OBS directory of ours: /bucket/prefix/parts.../"""
        middle = "/".join(part.strip("/") for part in (self.bucket, self.prefix, *parts) if part.strip("/"))
        return f"/{middle}/"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from the file and the environment. Raises ConfigError or SpecError, naming the field."""
    environ = os.environ if environment is None else environment
    file = Path(environ.get("AISBENCH_SETTINGS", HOME / "aisbench.yaml"))
    answers = read_yaml(file) if file.exists() or "AISBENCH_SETTINGS" in environ else {}
    for field in Settings.model_fields:
        value = environ.get(f"AISBENCH_{field.upper()}")
        if value is not None:
            answers[field] = value
    return parse_document(Settings, answers, Message("settings ({file} and AISBENCH_* variables)", file=file.name))


def read_environment() -> Mapping[str, str]:
    """This process' variables."""
    return os.environ


def user_config_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where the files of this user are that belong to no data folder."""
    environ = os.environ if environment is None else environment
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config").expanduser() / "aisbench"


def profile_names(settings: Settings) -> list[str]:
    """Every profile that can be used, by name."""
    return sorted(_profile_files(settings))


def load_profile(settings: Settings, name: str) -> Profile:
    """One profile. Raises ConfigError if there is none of that name, SpecError if the file is not acceptable."""
    files = _profile_files(settings)
    if name not in files:
        names = ", ".join(sorted(files)) or Message("none")
        raise ConfigError(
            Message("there is no profile named {name!r}; known profiles: {known}", name=name, known=names),
            Message("start the sandbox with `make run` or `aisbench-sandbox`, or write data/profiles/<name>.yaml"),
        )
    answers = {"name": name, **read_yaml(files[name])}
    file = files[name].name
    profile = parse_document(Profile, answers, Message("profile {name} ({file})", name=name, file=file))
    if profile.name != name:
        raise ConfigError(
            Message("profile file {file} says name: {found}", file=file, found=profile.name),
            Message("name it {name}", name=name),
        )
    return profile


def _profile_files(settings: Settings) -> dict[str, Path]:
    shipped = settings.data_dir / "sandbox" / "profile.yaml"
    files = {"sandbox": shipped} if shipped.exists() else {}
    return files | {readable_name(file.stem): file for file in sorted(settings.profiles_dir.glob("*.yaml"))}
