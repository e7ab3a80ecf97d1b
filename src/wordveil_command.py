"""The entry of the command `wordveil`: so small that Ctrl-C is heard while all else is loading."""

import sys

__all__ = ["main"]


def main() -> int:
    """Load the command line and run it."""
    try:
        from wordveil.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("wordveil: stopped.\n")
        return 130
