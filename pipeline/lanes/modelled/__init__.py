"""The modelled lane: AIConfigurator's kernel tables over a grid, and how far they are from measurements."""
