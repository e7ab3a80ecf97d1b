"""How long `tune` takes over the settings that it tries by default.

    python -m benchmarks.tuning [--out FILE]

The time of the processor is recorded beside the time that passed: on a busy machine only the first says much.
"""

import argparse
import json
import os
import time
from pathlib import Path

from wordveil.cli.spaces import list_spaces
from wordveil.cli.tune import DIMS
from wordveil.evaluation import tune
from wordveil.nearest.threads import all_cores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/tuning.json"))
    args = parser.parse_args()
    start = time.perf_counter(), time.process_time()
    result = tune(list_spaces(None, None, DIMS), max_attack=0.3, cache=False)
    passed, worked = time.perf_counter() - start[0], time.process_time() - start[1]
    assert result.chosen is not None
    record = {
        "made_by": "python -m benchmarks.tuning",
        "threads": all_cores(),
        "load_average": os.getloadavg()[0],
        "settings_tried": result.settings["settings_tried"],
        "seconds": passed,
        "processor_seconds": worked,
        "chosen": result.chosen["toml"],
        "attack": result.chosen["judged"]["attack"],
        "closeness": result.chosen["judged"]["closeness"],
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
