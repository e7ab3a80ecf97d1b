"""Ray Data: the recipe of the example, in a cluster of one machine; `make verify-ray` runs it."""

from pathlib import Path

from .checks import ROOT, check_distinct, check_no_keys, check_no_secret, run, run_example

CLOUDS = ("metadata.google.internal", "169.254.169.254")  # Ray asks which cloud it is in
EXAMPLE = ROOT / "examples" / "ray_batches.py"

SCRIPT = f"""
import os, runpy, ray
recipe = runpy.run_path({str(EXAMPLE)!r})
ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, _temp_dir=os.getcwd() + "/r")
ray.data.DataContext.get_current().enable_progress_bars = False
rows = [{{"id": SECRET, "label": str(number), "message": TEXT}} for number in range(8)]
rows.append({{"id": SECRET, "label": "8", "message": None}})
data = ray.data.from_items(rows).repartition(4)
private = recipe["private_rows"](data, small_perturber())
first, second = (sorted(private.take_all(), key=lambda row: row["label"]) for _ in range(2))
assert first == second  # materialized
assert [*first[0]] == ["label", "message"]
assert [row["label"] for row in first] == [str(number) for number in range(9)]
assert first.pop()["message"] is None
lazy = data.map_batches(recipe["Perturb"], fn_constructor_args=(small_perturber(),), concurrency=1, batch_format="pandas")
for row in [*first, *lazy.take_all(), *lazy.take_all()]:  # not materialized: drawn anew
    if row["message"] is not None:
        print("PRIVATE", row["message"])
private.write_parquet(os.getcwd() + "/private")
ray.shutdown()
"""


def test_actors_and_consumptions_draw_different_noise_and_nothing_is_written(watched: Path) -> None:
    printed = run(SCRIPT, watched, may_ask=CLOUDS)
    lines = [line.removeprefix("PRIVATE ") for line in printed if line.startswith("PRIVATE ")]
    assert len(lines) == 24
    check_distinct(lines)
    assert [path for path in check_no_secret(watched) if path.suffix == ".parquet"]
    check_no_keys(watched, least=4)


def test_the_example_runs(watched: Path) -> None:
    assert any(
        "200 ['label', 'message']" in line for line in run_example("ray_batches", watched, may_ask=CLOUDS)
    )
