"""Complete data sets: from file to file, or from pipe to pipe."""

from wordveil.runs.ledger import Ledger
from wordveil.runs.perturb_file import FileRun, perturb_file
from wordveil.runs.pipe import perturb_pipe

__all__ = ["FileRun", "Ledger", "perturb_file", "perturb_pipe"]
