"""The paper's noise is written once: no other code of wordveil draws normal and gamma deviates for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import wordveil

SOURCE = Path(wordveil.__file__).parent
NORMALS = {"normals", "standard_normal", "randn", "normal", "normal_", "multivariate_normal"}
GAMMAS = {"gammas", "standard_gamma", "gamma", "_standard_gamma", "Gamma"}
# What draws such deviates for another purpose: a random rotation that no answer depends on, the points from which a
# public map is learnt with PyTorch, which are no answers and have no λ, and audits and attacks, which test the noise
# with deviates of their own and perturb nothing.
OTHER_PURPOSES = {("nearest/screened.py", "_rotation"), ("embedding/map_fit.py", "_noisy")}
TESTS = ("evaluation/audit_", "evaluation/attacks_", "evaluation/noise_law.py")


def drawing(source: str, names: set[str]) -> Iterator[str]:
    """Yield the functions that call one of these names."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
        called = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
        if called & names:
            yield function.name


def drawing_in_wordveil(names: set[str]) -> set[tuple[str, str]]:
    found = set()
    for path in SOURCE.rglob("*.py"):
        file = path.relative_to(SOURCE).as_posix()
        if file != "randomness.py" and not file.startswith(TESTS):  # the generators themselves
            found |= {(file, name) for name in drawing(path.read_text("utf-8"), names)}
    return found


def test_the_noise_is_written_once() -> None:
    assert drawing_in_wordveil(GAMMAS) == {("noise.py", "draw_radii")}
    assert drawing_in_wordveil(NORMALS) - OTHER_PURPOSES == {("noise.py", "_normals")}


def test_a_second_implementation_would_be_found() -> None:
    second = "def mine(random):\n    x = random.standard_normal((2, 3))\n    return x * random.standard_gamma(3, 2)\n"
    assert list(drawing(second, NORMALS)) == list(drawing(second, GAMMAS)) == ["mine"]
    on_gpu = "class A:\n    def noise(self):\n        return self.torch.randn(3)\n"
    assert list(drawing(on_gpu, NORMALS)) == ["noise"]
