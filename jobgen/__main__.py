"""`python -m jobgen`."""

from jobgen.cli import run

if __name__ == "__main__":
    run()
