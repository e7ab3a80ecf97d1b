"""Scripts that run in the peers' own environments, which have numpy and the peer but not wordveil."""
