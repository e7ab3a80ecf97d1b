"""Keeps the results of `wordveil experiment paper` for the documentation: docs/experiments/*.json.

    wordveil experiment paper --out DIR --sms SMSSpamCollection.tsv --tweets train.csv
    python -m benchmarks.paper_docs DIR

The result of all experiments refers to those of the parts by their names, so each number is kept once.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path("docs/experiments")
NAMES: Final = {
    ("privacy", "glove-840b-300d"): "privacy-glove",
    ("density", "sms-spam"): "density-sms",
    ("density", "disaster-tweets"): "density-disaster",
    ("utility", "sms-spam"): "utility-sms",
    ("utility", "disaster-tweets"): "utility-tweets",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    paper = json.loads((folder / "paper.json").read_text(encoding="utf-8"))
    for part in paper["parts"]:
        write(NAMES[part["kind"], part["name"]], part)
    write("paper", paper | {"parts": [NAMES[part["kind"], part["name"]] for part in paper["parts"]]})


def write(name: str, facts: dict[str, Any]) -> None:
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
