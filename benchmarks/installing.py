"""How much disk space wordveil takes with its vectors, word counts, loops and dependencies: `make bench`.

    python -m benchmarks.installing [--json]

Counts the files of each package without extras, compiled Python included. Only what a user installs is
counted, also in an environment for development.
"""

import json
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

PACKAGES: Final = ("wordveil", "wordveil-glove", "wordveil-english", "wordveil-kernels")


def main() -> None:
    sizes = installed_megabytes()
    if "--json" in sys.argv[1:]:
        print(json.dumps(sizes))
        return
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"  {name:24} {size:7.1f} MB")
    print(f"  {'in all':24} {sum(sizes.values()):7.1f} MB")


def installed_megabytes() -> dict[str, float]:
    """Return megabytes on disk of wordveil and of all that it needs, by package."""
    sizes: dict[str, float] = {}
    names = list(PACKAGES)
    while names:
        name = names.pop().lower().replace("_", "-")
        if name not in sizes:
            package = distribution(name)
            sizes[name] = sum(path.stat().st_size for path in files_of(package)) / 1e6
            names += required_by(package)
    return sizes


def files_of(package: Distribution) -> Iterator[Path]:
    if package.name.lower() in PACKAGES:  # possibly installed in editable form: then its files are elsewhere
        spec = find_spec(package.name.lower().replace("-", "_"))
        for folder in (spec and spec.submodule_search_locations) or []:
            yield from (path for path in Path(folder).rglob("*") if path.is_file())
        return
    for file in package.files or []:
        path = Path(str(file.locate()))
        if path.is_file():
            yield path


def required_by(package: Distribution) -> list[str]:
    """Return the names that a package needs here, without those of its extras."""
    requirements = [Requirement(line) for line in package.requires or []]
    return [
        requirement.name
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]


if __name__ == "__main__":
    main()
