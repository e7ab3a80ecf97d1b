"""A private version of a Hugging Face data set: python examples/huggingface_datasets.py."""

import csv
from pathlib import Path

from datasets import Dataset

import wordveil as wv

if __name__ == "__main__":
    # Read by Python, and not by load_dataset, which would leave a copy that others can read in its cache.
    with (Path(__file__).parent / "messages.csv").open(encoding="utf-8", newline="") as file:
        messages = Dataset.from_list(list(csv.DictReader(file)))
    perturber = wv.Perturber.from_profile("balanced")
    private = wv.datasets.perturb(messages, perturber=perturber, text="message", keep="label", num_proc=2)
    print(private)
    print(private[0])
    print(wv.datasets.manifest(private)["attacker"]["best_guess"])
