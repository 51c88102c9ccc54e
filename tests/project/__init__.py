"""Tests of the project around the pipeline: environments, command line, files."""
