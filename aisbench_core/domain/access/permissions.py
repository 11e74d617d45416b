"""The least role that each change through the core needs, and why; docs/access.md is generated from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from aisbench_core.base.messages import Message
from aisbench_core.model import Actor, Role

ROLES: Mapping[Role, Message] = {
    Role.VIEWER: Message("viewer"),
    Role.ENGINEER: Message("engineer"),
    Role.LEAD: Message("lead"),
    Role.ADMIN: Message("admin"),
}
"""Names of the roles, from the least to the highest; each may do what those before it may do."""


@dataclass(frozen=True, slots=True)
class Permission:
    """The least role for one method. `change`: its stable name; `others`: the least role for what others own.

    `subject`: where the audit finds what is changed, in the method's arguments or in what it `made`; see subjects.py.
    `is_change`: whether the audit has an entry for it."""

    change: str
    subject: str
    role: Role
    reason: str
    others: Role | None = None
    is_change: bool = True

    def needs(self, *, of_others: bool) -> Role:
        """The least role for one's own things, or for those of others."""
        return self.others if of_others and self.others else self.role


E, L, A = Role.ENGINEER, Role.LEAD, Role.ADMIN

PERMISSIONS: Mapping[str, Permission] = {
    "Runs.launch": Permission("run.launch", "made.run_id|profile", E, "costs money"),
    "Runs.create": Permission("run.create", "made.run_id|profile.name", E, "costs money; what launches come down to"),
    "Reproductions.launch": Permission("run.reproduce", "made.run_id", E, "costs money"),
    "Runs.stop": Permission("run.stop", "run_id", E, "loses what has been computed", L),
    "Runs.stop_early": Permission("run.stop_early", "run_id", E, "loses what has been computed", L),
    "Runs.collect_again": Permission("run.collect", "run_id", E, "only adds results"),
    "Jobs.stop": Permission(
        "job.stop", "job.status.name", E, "loses what has been computed; jobs not of this console are others'", L
    ),
    "Jobs.set_priority": Permission("job.priority", "run_id", E, "other jobs wait longer", L),
    "Jobs.request_diagnosis": Permission("job.diagnose", "job.status.name", E, "takes resources of the platform", L),
    "Jobs.delete": Permission(
        "job.delete", "job.status.name", E, "cannot be undone; jobs not of this console are others'", L
    ),
    "Approvals.approve": Permission("run.approve", "run_id", L, "costs money beyond a budget; one's own as admin only"),
    "Approvals.decline": Permission("run.decline", "run_id", L, "keeps others' runs from being launched"),
    "Approvals.approve_series": Permission(
        "series.approve", "series_id", L, "costs money beyond a budget; one's own as admin only"
    ),
    "Approvals.decline_series": Permission("series.decline", "series_id", L, "keeps others' runs from being launched"),
    "AcceptanceService.launch": Permission(
        "acceptance.launch", "made.acceptance_id|draft.plan.suite.id", E, "costs money; launches series"
    ),
    "AcceptanceService.stop": Permission("acceptance.stop", "acceptance_id", E, "loses what has been computed", L),
    "SeriesService.launch": Permission("series.launch", "made.series_id|plan.name|profile", E, "costs money"),
    "SeriesService.stop": Permission("series.stop", "series_id", E, "loses what has been computed", L),
    "SeriesService.rerun": Permission("series.rerun", "series_id", E, "costs money of the series", L),
    "SeriesService.resume": Permission("series.resume", "series_id", E, "changes the budget of the series", L),
    "ScheduleService.add": Permission("schedule.add", "made.name|plan.name|profile", E, "costs money again and again"),
    "ScheduleService.change": Permission("schedule.change", "name", E, "costs money again and again", L),
    "ScheduleService.pause": Permission("schedule.pause", "name", E, "nothing is launched", L),
    "ScheduleService.resume": Permission("schedule.resume", "name", E, "costs money again and again", L),
    "ScheduleService.remove": Permission("schedule.remove", "name", E, "nothing is launched any more", L),
    "AnnotationService.rename": Permission("run.rename", "run_id", E, "earlier names stay recorded"),
    "AnnotationService.tag": Permission("run.tag", "run_id", E, "earlier tags stay recorded"),
    "AnnotationService.note": Permission("run.note", "run_id", E, "earlier notes stay recorded"),
    "AnnotationService.set_aside": Permission("run.set_aside", "run_id", L, "decides which results count"),
    "AnnotationService.count_again": Permission("run.count_again", "run_id", L, "decides which results count"),
    "Systems.state": Permission("system.state", "where", E, "recorded in the run's events"),
    "Systems.import_fields": Permission("system.import", "where", E, "recorded in the run's events"),
    "Systems.keep": Permission("system.keep", "run_id", E, "only proposed to later runs, which can state otherwise"),
    "SavedViews.save": Permission(
        "view.save", "view.name", E, "everybody sees it; replacing another person's view needs more", L
    ),
    "SavedViews.rename": Permission("view.rename", "name", E, "everybody uses it", L),
    "SavedViews.delete": Permission("view.delete", "name", E, "everybody uses it", L),
    "Packages.make": Permission("workload.make", "made.name|package.name", E, "adds a workload, and replaces none"),
    "Algorithms.create": Permission("algorithm.create", "made.algorithm_id|profile", E, "adds to the region"),
    "Algorithms.delete": Permission(
        "algorithm.delete", "algorithm.algorithm_id", L, "regions do not say whose an algorithm is"
    ),
    "ResultImport.read_on_server": Permission("import.read", "", A, "can name any file of the server", is_change=False),
    "Packages.open": Permission("package.open", "", A, "can name any folder of the server", is_change=False),
    "ResultImport.preview": Permission("import.preview", "", E, "belongs to importing", is_change=False),
    "ResultImport.save": Permission("import.save", "", E, "can be undone"),
    "ResultImport.save_inference": Permission("inference.import", "", E, "can be removed"),
    "InferenceResults.remove": Permission("inference.remove", "result_id", E, "removes a measurement", L),
    "ResultImport.add_demo": Permission("demo.add", "", E, "can be removed"),
    "ResultImport.remove_demo": Permission("demo.remove", "", E, "removes no measurements"),
    "Bundles.write": Permission("evidence.sign", "names", E, "signs in the name of the console"),
    "FileStatements.write": Permission("evidence.sign", "name", E, "signs in the name of the console"),
    "BundleImports.preview": Permission("import.preview", "", E, "belongs to importing", is_change=False),
    "BundleImports.save": Permission("import.bundle", "name", L, "adds results of another console"),
    "ResultImport.forget": Permission("import.forget", "one.at", L, "removes results that others may cite"),
    "Columns.remember": Permission("import.columns", "", E, "can be changed at the next import"),
    "Warehouse.mark_baseline": Permission("baseline.mark", "run_ids", L, "decides what counts as a regression"),
    "Warehouse.unmark_baseline": Permission("baseline.unmark", "group_id", L, "decides what counts as a regression"),
    "Warehouse.store_evaluations": Permission("validity.store", "", L, "decides which results count"),
    "Notifications.retry": Permission("notification.retry", "message_ids", L, "sends messages to all recipients"),
    "Notifications.test": Permission("channel.test", "name", A, "sends data to another host"),
    "Notifications.remove": Permission("channel.remove", "name", A, "nobody is notified there any more"),
    "NotificationChannels.save": Permission(
        "channel.save", "channel.name", A, "sends data to another host, and stores a secret"
    ),
    "NotificationChannels.remove": Permission("channel.remove", "name", A, "nobody is notified there any more"),
    "Tokens.create": Permission(
        "token.create",
        "made.0.token_id",
        Role.VIEWER,
        "of one's own name and at most one's own role; an admin creates any",
    ),
    "Tokens.revoke": Permission(
        "token.revoke", "token_id", Role.VIEWER, "of one's own name and at most one's own role; an admin revokes any"
    ),
    "Tokens.visible": Permission(
        "token.list", "", Role.VIEWER, "of one's own name; an admin sees all", is_change=False
    ),
    "OpenSessions.visible": Permission(
        "session.list", "", Role.VIEWER, "of one's own name; an admin sees all", is_change=False
    ),
    "OpenSessions.end": Permission("session.end", "session", Role.VIEWER, "the person can sign in again", A),
    "OpenSessions.end_all": Permission("session.end_all", "person", Role.VIEWER, "the person can sign in again", A),
    "Configs.save_profile": Permission("profile.save", "profile.name", A, "decides which account pays"),
    "Configs.save_keys": Permission("keys.save", "profile", A, "stores a secret"),
    "Deletions.delete": Permission("run.delete", "run_id", A, "cannot be undone"),
    "Cleaning.clean": Permission("run.clean", "plan.run_id", A, "cannot be undone"),
    "Budgets.save": Permission(
        "budget.save", "plan.scope plan.name", A, "decides what may be spent without an approval"
    ),
    "Budgets.remove": Permission("budget.remove", "scope name", A, "decides what may be spent without an approval"),
    "People.set_role": Permission("person.set_role", "person", A, "decides who may do what"),
    "People.revoke": Permission("person.revoke", "person", A, "decides who may do what"),
    "People.release": Permission("person.release", "person", A, "decides who may sign in under a name"),
    "People.all": Permission("person.list", "", A, "names everybody", is_change=False),
    "Audit.entries": Permission("audit.read", "", A, "says what everybody did", is_change=False),
    "Audit.count": Permission("audit.count", "", A, "says what everybody did", is_change=False),
    "Audit.verify": Permission("audit.verify", "", A, "says what everybody did", is_change=False),
    "SigningKeys.rotate": Permission(
        "signing_key.rotate", "made.fingerprint", A, "decides what this console signs with"
    ),
    "SigningKeys.trust": Permission(
        "signing_key.trust", "made.fingerprint|name", L, "decides whose results are believed"
    ),
    "SigningKeys.withdraw": Permission("signing_key.withdraw", "fingerprint", L, "decides whose results are believed"),
    "HeadPublishing.publish": Permission("head.publish", "made.path", A, "sends number and hash of the newest entry"),
    "HeadPublishing.notify": Permission("head.notify", "made.entry", A, "sends number and hash of the newest entry"),
    "Heads.check": Permission("head.check", "", A, "says what everybody did", is_change=False),
    "LabReports.issue": Permission("report.issue", "made.number", E, "says in the lab's name what was measured"),
    "LabReports.amend": Permission("report.amend", "made.number|number", E, "says in the lab's name what was measured"),
    "LabReports.authorise": Permission("report.authorise", "number", L, "vouches for a report of others"),
    "LabReports.withdraw": Permission("report.withdraw", "number", L, "marks a report that others may cite"),
    "LedgerCopies.copy": Permission("ledger.copy", "to", A, "copies everything that people did"),
    "FolderPublishing.publish": Permission("run-folders.publish", "", A, "sends everybody's files"),
    "Backups.create": Permission("backup.create", "target", A, "copies everything, keys as well"),
    "Storage.rebuild": Permission("warehouse.rebuild", "", A, "replaces everybody's results"),
    "Storage.record_again": Permission("warehouse.upgrade", "", A, "replaces everybody's results"),
    "Storage.move": Permission("warehouse.move", "to", A, "copies everybody's results"),
    "Storage.check": Permission("warehouse.check", "", A, "occupies the warehouse; can change it"),
    "Storage.compact": Permission("warehouse.compact", "", A, "occupies the warehouse"),
}
"""By the qualified name of the method. What is not named here, nobody may do: `permitted` refuses to decorate it."""


def has_role(actor: Actor, role: Role) -> bool:
    """Whether an actor's highest role is this one or a higher one."""
    order = list(ROLES)
    return any(order.index(held) >= order.index(role) for held in actor.roles)


def role_of(actor: Actor) -> Role | None:
    """The actor's highest role; None without any."""
    return max(actor.roles, key=list(ROLES).index, default=None)
