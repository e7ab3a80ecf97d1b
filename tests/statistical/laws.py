"""The law of the noise as checks that can fail: those of `wordveil audit`, each at level ALPHA.

Nothing in `wordveil.evaluation.noise_law` comes from the code under test: Σ by numpy's covariance, A by its definition,
the whitening by a symmetric root. Power, at n = 1e5: `radius_power` gives it, above 0.999 for an ε that is off by 5% in
any dimension. `test_planted.py` shows it for every mistake.
"""

from wordveil.evaluation.noise_law import Floats, Root, matrix_of, noise_tests, root_of
from wordveil.evaluation.noise_law import covariance_of as sigma_of
from wordveil.randomness import insecure_stream

__all__ = ["ALPHA", "Floats", "LawBrokenError", "Root", "check_noise", "matrix_of", "root_of", "sigma_of"]

ALPHA = 1e-6


class LawBrokenError(AssertionError):
    """A named check that the sample fails."""


def check_noise(noise: Floats, matrix: Floats, epsilon: float) -> None:
    """Raise LawBrokenError, with the name of the check, if `noise` does not follow exp(-ε‖z‖_RM)."""
    for test in noise_tests(noise, matrix, epsilon, insecure_stream(99), ALPHA):
        if not test.pvalue >= ALPHA:
            raise LawBrokenError(f"{test.name}: p = {test.pvalue:.3g}, {test.seen}")
