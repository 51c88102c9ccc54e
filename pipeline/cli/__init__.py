"""The command `weighbridge`: one module for each command."""
