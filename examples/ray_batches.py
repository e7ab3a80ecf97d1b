"""Private texts with Ray Data, by batches in actors: python examples/ray_batches.py."""

import csv
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray sends usage statistics

import ray

import wordveil as wv


class Perturb:
    """An actor: it loads the vectors once, and draws a key of its own."""

    def __init__(self, perturber: wv.Perturber) -> None:
        self._perturber = perturber

    def __call__(self, batch: Any) -> Any:
        """Return a batch with private messages; columns that are not named are left out, nulls stay."""
        private = wv.perturb_frame(batch, perturber=self._perturber, text="message", keep="label")
        return private[["label", "message"]]


def private_rows(data: Any, perturber: wv.Perturber) -> Any:
    """Return the private data set. It is materialized: consumed twice, it would draw new noise twice."""
    options = {"fn_constructor_args": (perturber,), "concurrency": 2, "batch_format": "pandas"}
    return data.map_batches(Perturb, **options).materialize()


if __name__ == "__main__":
    with (Path(__file__).parent / "messages.csv").open(encoding="utf-8", newline="") as file:
        messages = list(csv.DictReader(file))
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    private = private_rows(
        ray.data.from_items(messages).repartition(4), wv.Perturber.from_profile("balanced")
    )
    print(private.count(), private.columns())
    print(private.take(1)[0]["message"])
    ray.shutdown()
