"""JSON Lines."""

import json
from pathlib import Path

import wordveil as wv


def test_json_keeps_what_is_absent_null_odd_and_exact(tmp_path: Path, same: wv.Perturber) -> None:
    lines = [
        '{"k": {"b": [1, 2.5, null, true]}, "message": "Tea!", "x": 1}',
        '{"message": null, "k": [123456789012345678901234567890, 0.10, -0, 1E5, 1e400, 1.5]}',
        "  ",
        '{"k": "\\ud800 \\u00e9"}',
        '{"message": "call \\ud83d\\ude00 me", "k": "\\ud83d\\ude00"}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    run = wv.perturb_file(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", perturber=same, text="message", keep=["k"]
    )
    got = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in got[:3]] == [
        {"k": {"b": [1, 2.5, None, True]}, "message": "tea"},
        {"message": None, "k": [123456789012345678901234567890, 0.1, 0, 1e5, float("inf"), 1.5]},
        {"k": "\ud800 é"},
    ]
    assert list(json.loads(got[0])) == ["k", "message"]
    assert "[123456789012345678901234567890, 0.10, -0, 1E5, 1e400, 1.5]" in got[1]  # digit by digit
    assert '"k": "😀"' in got[3]
    assert run.rows == 4
    private = json.loads((tmp_path / "out.jsonl.private.json").read_text())
    assert private["nulls"] == 2
