"""A user's preferences across conversations: written, read, applied and found again (W3 to W5).

Each is a line like any other, superseded by the next and never lost: `history` gives all of them.
One code path for the CLI and the Python API.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem import doors
from skymem.errors import InvalidMemoryError
from skymem.model.preference import PREFERENCE, Declared, Preference, spelled
from skymem.policy import preferred
from skymem.policy.conditions import condition_faults, effect_faults, situation_faults
from skymem.policy.form import Admitted
from skymem.policy.preferred import Applied
from skymem.policy.trust import is_held_back, most
from skymem.stores.shelf import Kept
from skymem.working.preference_form import Wanted, faults_of, key_fault, line_of
from skymem.working.records import active, every, forget_records

if TYPE_CHECKING:
    from pathlib import Path

    from skymem.app import Home
    from skymem.working.finding import Found

FIND_MAX: Final = 5


class Past(NamedTuple):
    """A preference as it stands in its history."""

    preference: Preference
    state: str
    """`active`, `superseded` or `expired`."""

    superseded_by: str | None

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        standing = {"state": self.state, "superseded_by": self.superseded_by}
        return {**self.preference.as_json(), **standing}


class Updated(NamedTuple):
    """What came of writing a preference."""

    preference: Preference
    new: bool
    """False when it held already, and nothing was written."""

    was: Preference | None
    """What held before, if anything did."""

    redacted: Mapping[str, int] = MappingProxyType({})
    """Secrets that were taken out of it, by kind."""


class Preferences:
    """The preferences that one agent knows; each method may be asked for one user of several.

    Without a user a preference is everybody's; a user's own goes before it.
    """

    def __init__(self, home: "Home", agent: str) -> None:
        self._home = home
        self._agent = agent
        self._seen: object = None
        self._known: list[Preference] = []
        self._plain: dict[tuple[str | None, str], Preference] = {}

    @property
    def declared(self) -> Mapping[str, Declared]:
        """What the rules declare (`preferences:` of `retention_rules.yaml`), by key."""
        return self._home.rules.preferences

    # -- writing --------------------------------------------------------------------------------

    def update(
        self,
        key: str,
        value: Any,
        *,
        user_id: str | None = None,
        when: Mapping[str, Any] | None = None,
        effect: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        origin: str | None = None,
    ) -> Updated:
        """Write what somebody prefers; returns once it is on disk.

        It takes the place of what was there under this key, user and condition. The same again
        writes nothing.

        Args:
            key: which preference; of those declared, where any are.
            value: text, a number, true or false, or a list of texts, as is declared.
            user_id: whose; everybody's when left out.
            when: only in situations that fit this condition.
            effect: what it changes, by name, where that is more than its own key.
            tags: labels; those it had when left out.
            origin: where it comes from: user, agent, tool, document or import. What is believed
                too little is kept and not followed.

        Raises:
            InvalidMemoryError: the key is not declared, the value can't be, or the condition is
                none; every fault is named.
            DiskError: it could not be written; nothing of it stays.
        """
        return self.write(
            Wanted(
                key=key, value=value, user_id=user_id, condition=when, effect=effect, tags=tags,
                origin=origin,
            )
        )  # fmt: skip

    def add_rule(
        self,
        name: str,
        *,
        when: Mapping[str, Any],
        effect: Mapping[str, Any],
        user_id: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Updated:
        """Write a rule: what holds in situations that fit a condition (row W5).

        It takes the place of the user's rule of that name.

        Raises:
            InvalidMemoryError: the condition or the effect is none; every fault is named.
            DiskError: it could not be written; nothing of it stays.
        """
        return self.write(
            Wanted(rule=name, condition=when, effect=effect, user_id=user_id, tags=tags)
        )

    def note(
        self,
        text: str,
        *,
        origin_ids: Sequence[str] = (),
        trust: float | None = None,
        origin: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Updated:
        """Write a preference that was found stated in words, as promotion does (row W2).

        The same words again write nothing.

        Args:
            text: it in words.
            origin_ids: the memories it was found in.
            trust: how far it is believed, 0 to 1, as far as its origin allows.
            origin: the door it came through.
            user_id: whose.
            tags: labels.
            dry_run: write nothing.

        Raises:
            InvalidMemoryError, DiskError.
        """
        if trust is not None:
            trust = min(trust, most(origin, self._home.rules.trust))
        return self.write(
            Wanted(
                text=text.strip(), how="promotion", user_id=user_id, tags=tags, origin=origin,
                trust=trust, evidence_ids=origin_ids,
            ),
            dry_run=dry_run,
        )  # fmt: skip

    def unset(self, key: str, *, user_id: str | None = None, dry_run: bool = False) -> list[str]:
        """Move all that was ever said under a key, or a rule of that name, to trash.

        Of this very user, or of everybody; whoever only forgets the last has the one before again.

        Returns:
            The ids of what went; nothing when nobody said anything. Pinned ones stay.

        Raises:
            NotAllowedError, DiskError, BusyError.
        """
        said = [one.preference for one in self.history(key, dry_run=dry_run)]
        ids = [one.id for one in said if one.user_id == user_id]
        if not ids:
            return []
        return forget_records(self._home, self._agent, PREFERENCE, ids, dry_run=dry_run)

    def onboard(
        self, path: "Path | str", *, user_id: str | None = None, dry_run: bool = False
    ) -> list[Updated]:
        """Write what an answer sheet says, in YAML or JSON: all of it or nothing (row W4).

        Raises:
            InvalidMemoryError: names every problem of the file with its line and column.
            UsageError: there is no such file.
            DiskError: it could not be written; nothing of it stays.
        """
        from pathlib import Path

        from skymem.working.onboarding import read_sheet

        wanted = read_sheet(Path(path), self.declared, user_id)
        return self.write_all(wanted, dry_run=dry_run)

    def write(self, wanted: Wanted, *, dry_run: bool = False) -> Updated:
        """Write one preference; see `update`."""
        return self.write_all([wanted], dry_run=dry_run)[0]

    def write_all(self, wanted: Sequence[Wanted], *, dry_run: bool = False) -> list[Updated]:
        """Write several at once, or none; those that hold already write nothing.

        Raises:
            InvalidMemoryError: names every fault of every one.
            DiskError: they could not be written; none of them stays.
        """
        faults = [fault for one in wanted for fault in faults_of(one, self.declared)]
        if faults:
            raise InvalidMemoryError("\n".join(faults))
        there = self._there(dry_run=dry_run)
        done: list[Updated] = []
        lines: list[Admitted] = []
        for one in wanted:
            updated, line = self._prepared(one, there)
            done.append(updated)
            lines += [line] if line is not None else []
        if lines and not dry_run:
            doors.take_in(self._home, self._agent, lines)
        return done

    # -- reading --------------------------------------------------------------------------------

    def get(self, key: str, default: Any = None, *, user_id: str | None = None) -> Any:
        """What is preferred under a key; what is declared, else `default`, while nobody said.

        Raises:
            InvalidMemoryError: there is no such key, and preferences are declared.
            NotAllowedError, DiskError.
        """
        found = self.lookup(key, user_id=user_id)
        return default if found is None or found.value is None else found.value

    def lookup(self, key: str, *, user_id: str | None = None) -> Preference | None:
        """The same with all that is known of it; None where nobody said and nothing is declared.

        Raises:
            InvalidMemoryError: there is no such key, and preferences are declared.
            NotAllowedError, DiskError.
        """
        self._current()
        found = self._plain.get((user_id, key)) or self._plain.get((None, key))
        if found is not None:
            return found
        declared = self.declared.get(key)
        if declared is not None:
            return None if declared.default is None else preferred.undeclared_by_anyone(declared)
        fault = key_fault(key, self.declared)
        if fault:
            raise InvalidMemoryError(fault)
        return None

    def all(self, *, user_id: str | None = None) -> list[Preference]:
        """Those that hold, newest first: a user's and everybody's, or all users' when none is said.

        What is declared and nobody said comes last, in the order of the file.
        """
        found = self._current()
        if user_id is not None:
            found = preferred.for_user(found, user_id)
        said = {one.key for one in found if one.condition is None}
        silent = [one for name, one in self.declared.items() if name not in said]
        return [*found, *map(preferred.undeclared_by_anyone, silent)]

    def history(self, key: str, *, user_id: str | None = None, dry_run: bool = False) -> list[Past]:
        """All that was ever preferred under a key, or a rule of that name, oldest first (row W4).

        From every tier, superseded ones too. Of a user and everybody; of all when none is said.
        """
        found = []
        for kept, state, by in every(self._home, self._agent, PREFERENCE, dry_run=dry_run):
            for one in _readable([kept]):
                whose = user_id is None or one.user_id in (None, user_id)
                if key in (one.key, one.rule) and whose:
                    found.append(Past(one, state, by))
        return found

    def apply(self, situation: Mapping[str, Any], *, user_id: str | None = None) -> Applied:
        """What holds in a situation, and which preference makes it so (row W5).

        A user's own goes before everybody's, what makes more tests before what makes fewer, then
        the newer, then the lesser id.

        Raises:
            InvalidMemoryError: the situation is none.
        """
        faults = situation_faults(situation)
        if faults:
            raise InvalidMemoryError("\n".join(faults))
        return preferred.apply(self._current(), situation, user_id, self.declared)

    def find(self, situation: str, limit: int = FIND_MAX, *, user_id: str | None = None) -> "Found":
        """The preferences nearest to a situation in words, and those that go with them.

        By meaning; by words where there is no engine, which its `degraded` says.

        Raises:
            UsageError: the limit is outside its range.
        """
        from skymem.working.finding import find

        mine = preferred.for_user(self._current(), user_id)
        return find(self._home, self._agent, situation, limit, mine)

    # -- the rest -------------------------------------------------------------------------------

    def _current(self) -> list[Preference]:
        """Those that hold; worked out again only when there are others.

        What is believed too little tells nobody what to do (row X11).
        """
        found = active(self._home, self._agent, PREFERENCE)
        if found is not self._seen:
            followed = (
                one for one in found if not is_held_back(one.memory, self._home.rules.trust)
            )
            self._known = preferred.current(_readable(followed))
            always = (one for one in self._known if one.key and one.condition is None)
            self._plain = {(one.user_id, one.key): one for one in always}
            self._seen = found
        return self._known

    def _there(self, *, dry_run: bool) -> list[Preference]:
        """What is active; who may only append can't look, and readers take the newest."""
        if not self._home.owned:
            return []
        return [*_readable(active(self._home, self._agent, PREFERENCE, dry_run=dry_run))]

    def _prepared(
        self, wanted: Wanted, there: Iterable[Preference]
    ) -> tuple[Updated, Admitted | None]:
        """What writing one comes to, and its line where there is something to write."""
        draft, line = self._line(wanted)
        present = [one for one in there if one.identity == draft.identity]
        was = min(present, key=lambda one: (-(one.ts or 0.0), one.id), default=None)
        if was is None:
            return Updated(draft, new=True, was=None, redacted=line.redacted), line
        if _same(was, draft, wanted.tags):
            return Updated(was, new=False, was=was), None
        new, line = self._line(wanted, was, [one.id for one in present])
        return Updated(new, new=True, was=was, redacted=line.redacted), line

    def _line(
        self, wanted: Wanted, was: Preference | None = None, supersedes: Sequence[str] = ()
    ) -> tuple[Preference, Admitted]:
        tags = was.tags if wanted.tags is None and was is not None else wanted.tags or ()
        return line_of(self._home, self._agent, wanted, tags=tags, supersedes=supersedes)


def _same(was: Preference, draft: Preference, tags: Sequence[str] | None) -> bool:
    """Whether what is to be written says no more than what is there."""
    return (
        spelled(was.value) == spelled(draft.value)
        and spelled(was.condition) == spelled(draft.condition)
        and spelled(was.effect) == spelled(draft.effect)
        and (tags is None or set(tags) == set(was.tags))
    )


def _readable(records: Iterable[Kept]) -> Iterator[Preference]:
    """Read those that are preferences: what a hand has written otherwise is passed over."""
    for kept in records:
        try:
            one = Preference.of(kept.id, kept.tier, kept.memory)
        except InvalidMemoryError:
            continue
        odd = one.condition is not None and condition_faults(one.condition)
        if not odd and not (one.effect is not None and effect_faults(one.effect, {})):
            yield one
