"""How far a run is, how fast, and when it ends: read from its log while it trains."""
