"""What runs inside the peers' own environments: numpy and the peer are there, wordveil is not."""
