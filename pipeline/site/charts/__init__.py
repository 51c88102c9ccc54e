"""Charts: rows become points, points a Vega-Lite specification, and that a picture that needs no script."""
