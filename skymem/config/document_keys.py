"""The configuration keys of business context: tenants and their documents."""

from typing import Final

from skymem.config.key import DOCUMENTS, RULES_FILE, TENANT, TOP, Key
from skymem.config.units import format_size
from skymem.model.rules import DocumentRules

_DOCUMENTS: Final = DocumentRules()

DOCUMENT_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "tenants", "mapping", "none",
        "Who shares documents and `agent.md`; an agent in no tenant has its own.",
        "tenants: {acme: {agents: [sky, hobbs], users: [ann]}}", "W8",
    ),
    Key(
        RULES_FILE, TENANT, "agents", "list", "none",
        "The agents of the tenant; an agent is in one at most.", "agents: [sky, hobbs]", "W8",
    ),
    Key(
        RULES_FILE, TENANT, "users", "list", "none",
        "Its users: a search for another user is refused. Without any it is for everyone's.",
        "users: [ann]", "W8",
    ),
    Key(
        RULES_FILE, TOP, "documents", "mapping", "none",
        "How documents are read, cut and searched.", "documents: {chunk_chars: 1200}", "W8",
    ),
    Key(
        RULES_FILE, DOCUMENTS, "chunk_chars", "whole number", str(_DOCUMENTS.chunk_chars),
        "Characters of a chunk, at most.", "chunk_chars: 1200", "W8", 200, 20_000,
    ),
    Key(
        RULES_FILE, DOCUMENTS, "overlap_chars", "whole number", str(_DOCUMENTS.overlap_chars),
        "Characters of what stands before a chunk that it repeats, at most; half a chunk counts "
        "where that is less.",
        "overlap_chars: 150", "W8", 0, 5_000,
    ),
    Key(
        RULES_FILE, DOCUMENTS, "file_max", "size", format_size(_DOCUMENTS.file_bytes_max),
        "A larger file is reported and not read.", "file_max: 32MiB", "W8",
        1024, 1024**3,
    ),
    Key(
        RULES_FILE, DOCUMENTS, "reranker", "name or path", "none",
        "A cross-encoder that reads each passage beside the question, and ranks a search's "
        "candidates again: its directory, or its name where it lies in this machine's cache of "
        "models. Needs the extra `skymem[sentence-transformers]`; never downloaded.",
        "reranker: /opt/models/ms-marco-MiniLM-L6-v2", "W8",
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
