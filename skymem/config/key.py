"""One configuration key: its file, place, type, default and meaning."""

from typing import Final, NamedTuple

from skymem.config.units import format_duration, format_percentage, format_size

RULES_FILE: Final = "retention_rules.yaml"
SCHEDULE_FILE: Final = "schedule.yaml"

TOP: Final = ""
AGENT: Final = "agents.NAME"
ENGINE: Final = "engine"
REMOTE: Final = "engine.remote"
ENTRY: Final = "every"
COMPRESS: Final = "compress"
SUMMARIZER: Final = "compress.summarizer"
MERGE: Final = "merge"
DUPLICATES: Final = "merge.duplicates"
CONVERSATION: Final = "conversation"
PATTERNS: Final = "patterns"
PRUNE: Final = "prune"
TRASH: Final = "trash"
BUDGET: Final = "budget"
KIND: Final = "kinds.NAME"
TENANT: Final = "tenants.NAME"
DOCUMENTS: Final = "documents"
SCRATCHPAD: Final = "scratchpad"
PREFERENCE: Final = "preferences.NAME"
PLAYBOOKS: Final = "playbooks"
SHARE: Final = "share"
SECRETS: Final = "secrets"
TRUST: Final = "trust"
API: Final = "api"
IMPORTANCE: Final = "importance"
PROMOTE: Final = "promote"
DECAY: Final = "promote.decay"
RECALLED: Final = "promote.recalled"
ALARMS: Final = "alarms"


class Key(NamedTuple):
    """One configuration key; `least` and `most` are in seconds or bytes where it has a unit."""

    file: str
    level: str
    name: str
    kind: str
    default: str
    meaning: str
    example: str
    row: str
    """What it comes from, for those who work on it."""

    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()

    @property
    def dotted(self) -> str:
        """The key with its place: `agents.NAME.promote_threshold`, `every.minutes`."""
        return f"{self.level}.{self.name}" if self.level else self.name

    @property
    def type(self) -> str:
        """What may be written, in words, bounds included."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if not self.most:
            return self.kind
        return f"{self.kind}, {self.in_unit(self.least)} to {self.in_unit(self.most)}"

    def in_unit(self, amount: float) -> str:
        """A bound as one would write it in the file."""
        if self.kind == "duration":
            return format_duration(amount)
        if self.kind == "percentage":
            return format_percentage(amount)
        return format_size(amount) if self.kind == "size" else f"{amount:.15g}"

    def as_json(self) -> dict[str, str]:
        """The row as `skymem config explain KEY --json` prints it."""
        return {
            "key": self.dotted,
            "file": self.file,
            "type": self.type,
            "default": self.default,
            "meaning": self.meaning,
            "example": self.example,
        }

    def __str__(self) -> str:
        return (
            f"{self.dotted} ({self.file})\n"
            f"  {self.meaning}\n"
            f"  type:    {self.type}\n"
            f"  default: {self.default}\n"
            f"  example: {self.example}"
        )
