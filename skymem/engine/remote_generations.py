"""Generations that a Chroma server holds: of each there is a record at home, and nothing else.

The record says that it was begun before anything is sent, and that it is whole once it has been
verified, so that a kill at any step leaves a generation that is known, and deleted or finished by
the next run. Only what a record tells of is ever deleted on the server: a copy of this home may use
the same one, and has other records (row R14).
"""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from skymem.engine.embedding import ModelIdentity
from skymem.engine.generations import MISSING, UNFINISHED, Generations, read_json
from skymem.engine.items import COLLECTIONS
from skymem.engine.left_behind import PLACE, keep_noted, left_on_servers
from skymem.engine.remote import RemoteIndex, Server
from skymem.engine.sealing import Seal
from skymem.engine.vectors import IndexAwayError, VectorIndex
from skymem.errors import SkymemError
from skymem.model.rules import RemoteRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.home_key import HomeKey

PREFIX: Final = "skymem"
HOME_BYTES: Final = 8


def generations_of(
    paths: HomePaths,
    agent: str,
    files: Files,
    identity: ModelIdentity,
    *,
    remote: RemoteRules | None,
    between: Callable[[], None],
) -> Generations:
    """The generations of an agent, wherever the home's rules have them."""
    model = {"key": identity.key, "sha256": identity.sha256, "dimension": identity.dimension}
    if remote is None:
        return Generations(paths, agent, files, model)
    return RemoteGenerations(paths, agent, files, model, Server(remote, os.environ, between))


class RemoteGenerations(Generations):
    """The generations of one agent on a server."""

    def __init__(
        self,
        paths: HomePaths,
        agent: str,
        files: Files,
        model: dict[str, Any],
        server: Server,
    ) -> None:
        super().__init__(paths, agent, files, model)
        self._paths = paths
        self._server = server
        self._key: HomeKey | None = None

    def open(self, name: str) -> VectorIndex:
        """Be ready to use a generation; the server is asked when it is first used.

        Raises:
            IndexAwayError: the home's key can't be read.
        """
        expected = self._expected(name)
        manifest = read_json(self._manifest(name)) or {}
        return RemoteIndex(
            self._server,
            Seal(self._home_key().derived(b"names on a server")),
            expected["collections"],
            {each: expected[each] for each in ("model", "sha256", "dimension", "space")},
            create=not manifest.get("complete"),
        )

    def _expected(self, name: str) -> dict[str, Any]:
        remote = self._server.remote
        home = self._home_key().derived(b"home on a server")[:HOME_BYTES].hex()
        return {
            **super()._expected(name),
            "server": remote.url,
            "tenant": remote.tenant,
            "database": remote.database,
            "collections": [f"{PREFIX}-{home}-{self._agent}-{each}-{name}" for each in COLLECTIONS],
        }

    def _home_key(self) -> HomeKey:
        """The home's key: under it the server can't read the names, nor take two homes for one."""
        if self._key is None:
            try:
                self._key = HomeKey.of(self._paths, self._files)
            except SkymemError as error:
                raise IndexAwayError(f"the Chroma server can't be used: {error}") from error
        return self._key

    def _misfit_of_version(self, manifest: dict[str, Any]) -> str:
        """None: the server's Chroma writes its files, not the one installed here."""
        return ""

    def is_there(self, name: str) -> bool:
        """Whether its record is."""
        return self._manifest(name).is_file()

    def why_not(self, name: str) -> str:
        """Say why a generation can't be used; one without a record may still be on the server."""
        why = super().why_not(name)
        return UNFINISHED if name and why == MISSING else why

    def delete(self, name: str) -> None:
        """Delete a generation on the server, then its record; another server's is noted.

        Raises:
            IndexAwayError: the server does not answer; the record stays.
        """
        manifest = read_json(self._manifest(name)) or self._expected(name)
        if self._is_here(manifest):
            self._delete_collections(manifest)
            self._remove(name)
        else:
            super().delete(name)

    def delete_others(self, name: str) -> None:
        """Delete every generation but this one, and what was left here in earlier days.

        Raises:
            IndexAwayError: the server does not answer; what is left is known by its records.
        """
        super().delete_others(name)
        left = left_on_servers(self.directory)
        for each in filter(self._is_here, left):
            self._delete_collections(each)
        elsewhere = [each for each in left if not self._is_here(each)]
        if elsewhere != left:
            keep_noted(self.directory, elsewhere, self._files)

    def _is_here(self, manifest: Mapping[str, Any]) -> bool:
        remote = self._server.remote
        return [manifest.get(key) for key in PLACE] == [remote.url, remote.tenant, remote.database]

    def _delete_collections(self, manifest: Mapping[str, Any]) -> None:
        for collection in manifest.get("collections") or ():
            self._server.delete(str(collection))

    def set_aside(self, name: str, why: str) -> None:
        """Note that a generation is of no use; it is deleted once the server answers."""
        manifest = read_json(self._manifest(name))
        if manifest is not None:
            data = json.dumps({**manifest, "complete": False, "damage": why}, indent=1)
            self._files.replace(self._manifest(name), data.encode() + b"\n")

    def crashes(self, name: str) -> int:
        """None: no server can end this process."""
        return 0

    def is_as_closed(self, name: str) -> bool:
        """Yes: there is no file here to be looked at first."""
        return True

    def note_closed(self, name: str) -> None:
        """Nothing is to be noted of files that are not here."""
