"""Parts of a run's folder that are fetched by themselves: a list of runs needs no logs."""

from enum import StrEnum

RECORD_FILES = ("record.json", "events.jsonl", "metrics.jsonl")
"""What write_record writes."""

STATED_FILES = ("system.json", "config.json")
"""The system description."""


class FolderPart(StrEnum):
    """Which files: all of them, those that describe the run, those of people, or those in a directory."""

    ALL = "all"
    RECORD = "record"
    NOTES = "annotations.jsonl"
    REMOVALS = "removals.jsonl"
    LOGS = "logs/"
    STEPS = "steps/"
    REPORTED = "reported/"
    SUMMARIES = "summaries/"

    def holds(self, name: str) -> bool:
        """Whether a file is in it, by its path below the run's folder."""
        match self:
            case FolderPart.ALL:
                return True
            case FolderPart.RECORD:
                return "/" not in name
            case FolderPart.NOTES | FolderPart.REMOVALS:
                return name == self
            case _:
                return name.startswith(self)

    @classmethod
    def with_file(cls, name: str) -> "FolderPart":
        """The smallest part that holds a file, by its path below the run's folder."""
        return next(
            (part for part in (cls.LOGS, cls.STEPS, cls.REPORTED, cls.SUMMARIES, cls.RECORD) if part.holds(name)),
            cls.ALL,
        )

    @property
    def condition(self) -> tuple[str, list[object]]:
        """The same in SQL, with its values."""
        match self:
            case FolderPart.ALL:
                return "1 = 1", []
            case FolderPart.RECORD:
                return "instr(name, '/') = 0", []
            case FolderPart.NOTES | FolderPart.REMOVALS:
                return "name = ?", [str(self)]
            case _:
                return "substr(name, 1, ?) = ?", [len(self), str(self)]
