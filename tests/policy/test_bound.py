"""Whom a handle may touch: its agent, and of its tenant what it may only read (rows M7, W8)."""

from types import MappingProxyType

from skymem.model.rules import RetentionRules
from skymem.model.tenants import Tenant, Tenants
from skymem.policy.bound import bound_to

TENANTS = Tenants(MappingProxyType({"acme": Tenant("acme", ("sky", "hobbs"))}))
RULES = RetentionRules(tenants=TENANTS)


def test_an_agent_is_itself_and_nobody_else() -> None:
    bound = bound_to("sky", RULES)

    assert bound.admits("sky")
    assert bound.reads("sky")
    assert not bound.reads("hobbs")
    assert not bound.reads("tenant-other")


def test_it_reads_what_is_its_tenants_and_writes_nothing_there() -> None:
    bound = bound_to("sky", RULES)

    assert bound.reads("tenant-acme")
    assert not bound.admits("tenant-acme")


def test_in_no_tenant_its_documents_are_its_own() -> None:
    bound = bound_to("aegis", RULES)

    assert bound.admits("docs-aegis")
    assert not bound.reads("tenant-acme")
    assert not bound.reads("docs-sky")
