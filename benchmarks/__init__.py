"""Measurements beside their floors; not part of the package.

A command that is measured finds what Python has compiled, as where it is installed.
"""

import os

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
