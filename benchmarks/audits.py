"""Complete audits: the mechanism of the paper under 20 keys, and every registered mechanism once.

    python -m benchmarks.audits [--runs 20]

All must pass: by the stated family-wise error, one of 20 correct runs fails with probability 0.002 at most.
"""

import argparse
import sys
import time
from typing import Any, Final

import wordveil as wv
from wordveil.evaluation.audit import audit_mechanism
from wordveil.mechanisms import mechanism_names

LARGEST_ERROR: Final = 1e-4


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    glove = wv.load_embedding()
    space = wv.Embedding(glove.words[:3000], glove.vectors[:3000, :20], public=True)
    cases: list[tuple[str, wv.Mechanism]] = [("mahalanobis", wv.Mahalanobis(space, 3.0, 0.5))] * args.runs
    for name in mechanism_names():
        needed: dict[str, Any] = {"unsafe_no_uniform_guarantee": True} if name == "custext" else {}
        cases.append((name, wv.make_mechanism(name, space, 3.0, **needed)))
    cases += [("mahalanobis, 300 dimensions", wv.Mahalanobis(glove, 10.0, 1.0))]
    failed = 0
    for name, mechanism in cases:
        start = time.perf_counter()
        result = audit_mechanism(mechanism)
        assert result.error <= LARGEST_ERROR, result.error
        failed += not result.passed
        print(f"{name}: {result.headline} {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{len(cases) - failed} of {len(cases)} audits passed")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
