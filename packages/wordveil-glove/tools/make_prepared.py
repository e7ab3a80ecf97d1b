"""Compute what wordveil needs in its first seconds with the default vectors, and keep it in the package.

python packages/wordveil-glove/tools/make_prepared.py

The entries are those of the user's cache. Their names are digests of what they depend on, so that an entry
for other vectors, word counts or settings is never used. Run it again when the map, the profiles, the word
counts, the watched words or the block list change; a test says when.
"""

import os
import shutil
import tempfile
from pathlib import Path

import wordveil as wv
from wordveil.profiles import PROFILES
from wordveil_glove import PREPARED_PATH


def prepare() -> None:
    """Do what users do first."""
    vectors = wv.load_embedding()
    for mechanism in (wv.Laplace(vectors, 10.0), wv.Mahalanobis(vectors, 10.0)):
        str(mechanism.guarantee)
    wv.Prior.english(vectors)
    for profile in PROFILES.values():
        for blocked in (None, wv.BlockList.english()):  # the command has the list, Python has none
            perturber = wv.Perturber(profile.load(blocked=blocked))
            perturber.exposure()
            str(perturber.guarantee)


def main() -> None:
    """Fill an empty cache, and move it into the package."""
    shutil.rmtree(PREPARED_PATH, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        prepare()
        entries = sorted(Path(folder).glob("wordveil/prepared/*.safetensors"))
        PREPARED_PATH.mkdir()
        for entry in entries:
            shutil.copyfile(entry, PREPARED_PATH / entry.name)
            print(f"{entry.name}: {entry.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
