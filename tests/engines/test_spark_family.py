"""Every registered mechanism on a real Spark gives the answers of the threads."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.engines import engine_maker
from wordveil.mechanisms import mechanism_class, mechanism_names

ROWS = 300


@pytest.mark.slow  # it starts Spark once for each mechanism
@pytest.mark.spark
def test_every_mechanism_on_spark(
    small: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
    source = tmp_path / "in.csv"
    source.write_text("n,m\n" + "".join(f"{i},tea at noon zanzibar\n" for i in range(ROWS)))
    for name in mechanism_names():
        needed: dict[str, Any] = {
            option.name: True for option in mechanism_class(name).options if option.needed
        }
        perturber = wv.Perturber(wv.make_mechanism(name, small, 2.0, **needed))
        outputs = []
        for engine in ("local", "spark"):
            target = tmp_path / f"{name}-{engine}.csv"
            wv.perturb_file(
                source, target, perturber=perturber, text="m", keep="n", key=wv.insecure_key(1),
                engine=engine_maker(engine),
            )  # fmt: skip
            outputs.append(target.read_bytes())
        assert outputs[0] == outputs[1], name
        assert outputs[0].count(b"\n") == ROWS + 1
