"""Files that nobody needs after a power cut: nothing waits for the disk (row X8)."""

from pathlib import Path

from skymem.stores.files import Files


class FleetingFiles(Files):
    """Real files, whole for every reader while this machine runs; no more is promised."""

    def fsync(self, fd: int) -> None:
        """Do not wait."""

    def fsync_directory(self, path: Path) -> None:
        """Do not wait."""
