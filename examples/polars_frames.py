"""Private texts in a lazy Polars query: python examples/polars_frames.py."""

from pathlib import Path

import polars as pl

import wordveil as wv

perturber = wv.Perturber.from_profile("balanced")
messages = pl.scan_csv(Path(__file__).parent / "messages.csv")
private = messages.select("label", wv.polars.perturb("message", perturber)).collect()
print(private.group_by("label").len().sort("label"))
print(private["message"][0])
