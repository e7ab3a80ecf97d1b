"""Whole data sets: a file to a file, a frame to a frame, or a pipe to a pipe."""

from wordveil.runs.ledger import Ledger
from wordveil.runs.perturb_file import FileRun, perturb_file
from wordveil.runs.perturb_frame import perturb_frame
from wordveil.runs.pipe import perturb_pipe

__all__ = ["FileRun", "Ledger", "perturb_file", "perturb_frame", "perturb_pipe"]
