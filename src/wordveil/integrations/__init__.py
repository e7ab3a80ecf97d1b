"""Wordveil inside other libraries, one file each. A file imports its library when it is itself first used."""
