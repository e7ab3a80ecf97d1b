"""Private texts with Dask, by partitions: python examples/dask_partitions.py."""

from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pandas as pd

import wordveil as wv


def perturbed(part: Any, perturber: wv.Perturber) -> Any:
    """Return one partition with private messages; columns that are not named are left out."""
    private = wv.perturb_frame(part, perturber=perturber, text="message", keep="label")
    return private[["label", "message"]]


def private_frame(frame: Any, perturber: wv.Perturber) -> Any:
    """Return the private frame in memory. It is computed once: a second time it would draw new noise."""
    columns = pd.DataFrame({"label": pd.Series(dtype="str"), "message": pd.Series(dtype="str")})
    return frame.map_partitions(perturbed, perturber, meta=columns).compute(scheduler="processes")


if __name__ == "__main__":
    messages = pd.read_csv(Path(__file__).parent / "messages.csv")
    private = private_frame(dd.from_pandas(messages, npartitions=2), wv.Perturber.from_profile("balanced"))
    print(private["message"].iloc[0])
    print(private.groupby("label").size().to_dict())
