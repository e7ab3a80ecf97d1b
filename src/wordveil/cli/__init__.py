"""The command `wordveil`."""
