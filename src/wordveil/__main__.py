"""`python -m wordveil` is the command `wordveil`."""

from wordveil_command import main

if __name__ == "__main__":
    raise SystemExit(main())
