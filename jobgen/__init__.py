"""jobgen writes the batch script for a multi-node PyTorch job."""

__version__ = "0.2.0"
