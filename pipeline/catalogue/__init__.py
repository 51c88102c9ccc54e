"""Models, boards, links and prices, each with source and date."""

from pipeline.catalogue.read import Catalogue, catalogue, model_of, model_of_file

__all__ = ["Catalogue", "catalogue", "model_of", "model_of_file"]
