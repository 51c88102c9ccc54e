"""Lane `simulated`: the published grid of the fleet simulator, and what follows from it."""
