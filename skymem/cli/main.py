"""The whole `skymem` command line, for those who ask about all of its verbs."""

from typing import Final

from skymem.cli.verbs import command_line

app: Final = command_line()
