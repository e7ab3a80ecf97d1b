"""Complete data sets: from file to file, from frame to frame, or from pipe to pipe."""

from wordveil.runs.ledger import Ledger
from wordveil.runs.perturb_file import FileRun, perturb_file
from wordveil.runs.perturb_frame import perturb_frame
from wordveil.runs.pipe import perturb_pipe

__all__ = ["FileRun", "Ledger", "perturb_file", "perturb_frame", "perturb_pipe"]
