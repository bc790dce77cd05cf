"""Whether a wheel has in it what it should, and nothing else: `wheel_contents.py WHEEL`."""

import re
import sys
import zipfile
from pathlib import Path

NEEDED = (
    "skymem/py.typed",
    "skymem/defaults/retention_rules.yaml",
    "skymem/defaults/schedule.yaml",
    "skymem/engine/vocabulary/bert-base-uncased.txt",
    "skymem/engine/vocabulary/NOTICE",
    "dist-info/licenses/LICENSE",
    "dist-info/licenses/skymem/engine/vocabulary/NOTICE",
    "data/share/man/man1/skymem.1",
    "data/share/bash-completion/completions/skymem",
    "data/share/zsh/site-functions/_skymem",
    "data/share/fish/vendor_completions.d/skymem.fish",
)
ALLOWED = re.compile(
    r"skymem/(?!.*test).*|skymem-[\d.\w]+\.(dist-info/.*|data/data/share/[\w/.-]+)"
)


def main() -> str:
    """Say what is wrong, or nothing."""
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        names = wheel.namelist()
    ours = {str(path) for path in Path("skymem").rglob("*.py")}
    missing = [one for one in NEEDED if not any(name.endswith(one) for name in names)]
    missing += sorted(ours - {*names})
    strange = [name for name in names if not ALLOWED.fullmatch(name)]
    return "".join(f"missing: {one}\n" for one in missing) + "".join(
        f"strange: {one}\n" for one in strange
    )


if __name__ == "__main__":
    sys.exit(main() or None)
