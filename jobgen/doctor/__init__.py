"""Makes one HTML page from the results that a `jobgen doctor` job measured on the nodes.

The package has the strict reader of the results' JSON file (format 1), the page (assets/), and the
data for its drawings: the map of node pairs, the bars and the curves.
Not here: the measuring and the rule for a slow node (trainers/), and the command line (cli/).
"""

from jobgen.doctor.page import html_report
from jobgen.doctor.results import Results, read_results, results_of

__all__ = ["Results", "html_report", "read_results", "results_of"]
