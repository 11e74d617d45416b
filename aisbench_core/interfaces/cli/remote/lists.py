"""Which commands run on a server, and why the others do not: a command that is in no list is refused."""

from collections.abc import Mapping

from aisbench_core.base.messages import Message

REMOTE = frozenset(
    {
        *("run", "preflight", "spec", "clone", "diff", "reproduce"),
        *("config import", "config export", "bisect"),
        *("runs", "show", "scalars", "stop", "priority", "collect", "logs", "files", "explain"),
        *("clean", "delete", "rename", "note", "set-aside", "tag"),
        *(f"series {name}" for name in ("run", "list", "show", "best", "compare", "stop", "rerun", "resume")),
        *(f"schedule {name}" for name in ("add", "list", "change", "pause", "resume", "remove")),
        *(f"jobs {name}" for name in ("list", "clone", "stop", "delete", "diagnose")),
        *(f"region {name}" for name in ("flavors", "engines", "images", "pools", "nodes", "quotas", "files")),
        *(f"algorithms {name}" for name in ("list", "subscribed", "show", "create", "delete")),
        *(f"notify {name}" for name in ("list", "add", "remove", "test", "log")),
        *("leaderboard", "compare", "scaling", "regress", "spending", "validate", "ruleset list", "ruleset show"),
        *("suite list", "suite show", "suite check", "accept"),
        *("acceptance list", "acceptance show", "acceptance stop"),
        *("baseline mark", "baseline unmark", "baseline list"),
        *(f"system {name}" for name in ("show", "edit", "keep", "import", "export")),
        *("import", "imports list", "imports forget", "export", "report", "mllog", "sql"),
        *("warehouse rebuild", "warehouse check", "warehouse compact", "warehouse snapshot"),
        *(f"inference {name}" for name in ("import", "list", "remove")),
        *("views list", "views delete", "workloads", "profiles", "health"),
        *("budget list", "budget set", "budget remove", "approve", "decline"),
        *(f"people {name}" for name in ("list", "set-role", "revoke", "release")),
        "audit",
        *(f"evidence {name}" for name in ("head", "check", "keys", "trust", "withdraw", "bundle")),
        "verify",
        *(f"lab-report {name}" for name in ("issue", "list", "show", "authorise", "amend", "withdraw")),
        *("session list", "session end", "session end-all"),
        *("token create", "token list", "token revoke"),
    }
)
"""What they change goes through methods that check the role of the token, and their files are the client's."""

PROCESS = Message("starts a server on the machine where it is typed")
FOLDER = Message("works on the files of the machine where it is typed")

LOCAL: Mapping[str, Message] = {
    **dict.fromkeys(("serve", "api serve", "tensorboard", "mindinsight"), PROCESS),
    **dict.fromkeys(
        ("backup", "restore", "upgrade", "warehouse move", "ledger copy", "run-folders publish", "publish"), FOLDER
    ),
    "mlflow export": Message("signs in to MLflow with the keys of the machine where it is typed"),
    "follow": Message("follows the runs of the machine where it is typed"),
    "evidence rotate": Message("writes a key to the machine where it is typed"),
    "doctor": Message("examines the machine where it is typed"),
    "workload import": Message("unpacks a package, which can be too large to be sent: the page New run imports it"),
}
"""Commands that a server refuses, and why."""

CLIENT = frozenset({"login", "logout", "whoami"})
"""Commands about the server itself; they are carried out where they are typed."""
