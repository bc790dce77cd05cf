"""What working memory gives to a prompt: a layer of a context each (row N11, W1 to W11).

Nobody is asked who has nothing to say: an agent without preferences, tenant or documents costs a
look at some files, and no engine is started for it.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import UnknownMemoryError
from skymem.model.conversation import CONVERSATION
from skymem.model.playbook import PLAYBOOK
from skymem.model.preference import PREFERENCE
from skymem.model.snippet import SNIPPET
from skymem.policy import context as layer
from skymem.policy.admit import agent_name_fault
from skymem.policy.business import paragraphs
from skymem.policy.conditions import holds
from skymem.policy.context import Audience, By, Layer, Piece, Subject
from skymem.policy.playbooks import snippet
from skymem.policy.rank import tokens_of
from skymem.policy.secrets import guard_of
from skymem.policy.terms import stems
from skymem.policy.trust import is_trusted
from skymem.stores import agent_file
from skymem.working import agent_md
from skymem.working.at_hand import at_hand
from skymem.working.patterns import patterns, takes
from skymem.working.playbooks import Playbooks
from skymem.working.preferences import Preferences
from skymem.working.promotion import CONTEXT
from skymem.working.scratchpad import Scratchpad
from skymem.working.tenancy import of_tenant

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.stores.shelf import Kept

PREFERENCES_MAX: Final = 10
BUSINESS_MAX: Final = 10
"""Of what was promoted to business context; what a person wrote into `agent.md` is beside it."""

DOCUMENTS_MAX: Final = 3
"""Passages for a message, when nobody says: who wants more searches the documents."""

SNIPPETS_MAX: Final = 20

PATTERNS_MAX: Final = 5
PLAYBOOKS_MAX: Final = 2
PLAYBOOK_CHARS: Final = 900


@dataclass(frozen=True, slots=True)
class Asked:
    """For whom, and about what."""

    message: str = ""
    user_id: str | None = None
    session: str | None = None
    """The conversation; that of `$SKYMEM_SESSION`, as the scratchpad's, when left out."""

    situation: Mapping[str, Any] = field(default_factory=dict)
    """What conditions of preferences are compared with."""

    documents: int = DOCUMENTS_MAX


@dataclass(frozen=True, slots=True)
class Working:
    """What the layers may hold, and what was done without."""

    layers: Sequence[Layer]
    degraded: Sequence[str] = ()


def working(home: "Home", agent: str, asked: Asked) -> Working:
    """Gather the layers of working memory.

    Raises:
        InvalidMemoryError: the situation is none.
        NotAllowedError: this process is not the home's owner.
        DiskError: something can't be read.
    """
    at_hand(home, agent).of(SNIPPET, PREFERENCE, PLAYBOOK, CONVERSATION)  # all are read at once
    audience = Audience(asked.user_id)
    scratchpad = Scratchpad(home, agent, asked.session)
    documents, playbooks = _documents(home, agent, asked), _playbooks(home, agent, asked)
    pieces = {
        layer.PREFERENCES: (_preferences(home, agent, asked), PREFERENCES_MAX),
        layer.CONVERSATION: (_conversation(home, agent, scratchpad.session), 1),
        layer.SCRATCHPAD: (_snippets(home, agent, scratchpad), SNIPPETS_MAX),
        layer.DOCUMENTS: (documents.pieces, asked.documents),
        layer.PLAYBOOKS: (playbooks.pieces, PLAYBOOKS_MAX),
        layer.BUSINESS: (_business(home, agent, asked), BUSINESS_MAX),
    }
    admitted = {
        name: tuple(one for one in found if audience.admits(one.memory))[:most]
        for name, (found, most) in pieces.items()
    }
    # The newest of the snippets are chosen, and stand in the order in which they were written.
    admitted[layer.SCRATCHPAD] = admitted[layer.SCRATCHPAD][::-1]
    written = _agent_md(home, agent, asked)
    layers = [
        Layer(name, found, written if name == layer.BUSINESS else (), agent_file.NAME)
        for name, found in admitted.items()
    ]
    layers.append(_patterns(home, agent, asked))
    return Working(layers, [*documents.degraded, *playbooks.degraded])


def _preferences(home: "Home", agent: str, asked: Asked) -> list[Piece]:
    """Those that apply, without what another overrules; those about the message first."""
    known = Preferences(home, agent)
    holding = {one.by.id for one in known.apply(asked.situation, user_id=asked.user_id)
               .effects.values()}  # fmt: skip
    chosen = {
        one.id
        for one in known.all(user_id=asked.user_id)
        if holds(one.condition, asked.situation) and (one.id in holding or not one.effects)
    }
    kept = [one for one in at_hand(home, agent).of(PREFERENCE) if one.id in chosen]
    believed = [one for one in kept if is_trusted(one.memory, home.rules.trust)]
    return _about(asked.message, believed)


def _about(message: str, newest: Sequence["Kept"]) -> list[Piece]:
    """Put those that share a word with the message before the others."""
    words = Subject.of(message).words
    near = [one for one in newest if not words.isdisjoint(_words(one))]
    there = {one.id for one in near}
    others = [one for one in newest if one.id not in there]
    return [*_pieces(near, "similarity"), *_pieces(others, "recency")]


def _words(one: "Kept") -> set[str]:
    return stems(tokens_of(one.memory.searchable, one.memory.tags))


def _pieces(found: Iterable["Kept"], by: By = "recency") -> list[Piece]:
    return [Piece(one.id, one.tier, one.memory, by) for one in found]


def _conversation(home: "Home", agent: str, session: str) -> list[Piece]:
    found = at_hand(home, agent).of(CONVERSATION)
    return _pieces(one for one in found if one.memory.scope.get("session") == session)


def _snippets(home: "Home", agent: str, scratchpad: Scratchpad) -> list[Piece]:
    """The newest first."""
    kept = {one.id: one for one in at_hand(home, agent).of(SNIPPET)}
    return _pieces(kept[one.id] for one in reversed(scratchpad.read()) if one.id in kept)


def _business(home: "Home", agent: str, asked: Asked) -> list[Piece]:
    """What was promoted to business context."""
    if not _has_business(home, agent, asked.user_id):
        return []
    return _about(asked.message, at_hand(*of_tenant(home, agent)).of(CONTEXT))


def _agent_md(home: "Home", agent: str, asked: Asked) -> tuple[str, ...]:
    """What people wrote into `agent.md`."""
    if not _has_business(home, agent, asked.user_id):
        return ()
    theirs, _ = of_tenant(home, agent)
    # A person's file: what a door would have taken out of it goes into no prompt.
    text, _ = guard_of(home.rules.secrets).text(agent_md.read(theirs, agent))
    return tuple(paragraphs(text))


def _patterns(home: "Home", agent: str, asked: Asked) -> Layer:
    """What several tenants have in common, for an agent whose tenant takes it."""
    if not takes(home, agent):
        return Layer(layer.PATTERNS)
    words = Subject.of(asked.message).words
    found = sorted(patterns(home), key=lambda one: words.isdisjoint(stems(tokens_of(one.text, ()))))
    told = tuple(f"{one.text} ({one.tenants} tenants)" for one in found[:PATTERNS_MAX])
    return Layer(layer.PATTERNS, facts=told, source="several tenants")


def _has_business(home: "Home", agent: str, user_id: str | None) -> bool:
    """Whether anything is kept of the business, and this user may know of it."""
    tenant = home.rules.tenants.of(agent)
    if tenant is not None and tenant.users and user_id not in (None, *tenant.users):
        return False
    owner = home.rules.tenants.owner(agent)
    if agent_name_fault(owner) is not None:  # too long to have any
        return False
    return home.workplace().agent_paths(owner).directory.is_dir()


@dataclass(frozen=True, slots=True)
class _Found:
    pieces: list[Piece] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


def _documents(home: "Home", agent: str, asked: Asked) -> _Found:
    """What documents say to the message; without one, or without any, nobody is asked."""
    wanted = asked.documents > 0 and bool(asked.message.strip())
    if not wanted or not _has_business(home, agent, asked.user_id):
        return _Found()
    theirs, owner = of_tenant(home, agent)
    from skymem.working.documents import Documents

    documents = Documents(home, agent)
    if not documents.list():
        return _Found()
    found = documents.search(asked.message, limit=asked.documents, user_id=asked.user_id)
    pieces = []
    for one in found:
        with contextlib.suppress(UnknownMemoryError):  # it has left since
            kept = theirs.find(owner, one.id)
            pieces.append(Piece(kept.id, kept.tier, kept.memory, "similarity", one.cite))
    return _Found(pieces, found.degraded)


def _playbooks(home: "Home", agent: str, asked: Asked) -> _Found:
    """How the like of the message was done, in steps; nothing is written down for it."""
    known = Playbooks(home, agent)
    there = [one for one in known.all() if one.user_id in (None, asked.user_id)]
    if not there or not asked.message.strip():
        return _Found()
    hits = known.find(
        asked.message, limit=PLAYBOOKS_MAX, user_id=asked.user_id, to_scratchpad=False
    )
    kept = {one.id: one for one in at_hand(home, agent).of(PLAYBOOK)}
    steps = [(kept[hit.playbook.id], hit.playbook.flow) for hit in hits if hit.playbook.id in kept]
    pieces = [
        Piece(one.id, one.tier, one.memory, "similarity", said=snippet(flow, PLAYBOOK_CHARS))
        for one, flow in steps
    ]
    return _Found(pieces, hits.degraded)
