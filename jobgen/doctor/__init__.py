"""Makes one HTML page of what `jobgen doctor` has measured on the nodes of a machine.

Here is the strict reader of its JSON file (format 1), the page (assets/), and what it needs: the
values of pairs, and the numbers of its drawings.
Not here: the measuring and the rule for a slow node (trainers/), and the command line (cli/).
"""

from jobgen.doctor.page import html_report
from jobgen.doctor.results import Results, read_results, results_of

__all__ = ["Results", "html_report", "read_results", "results_of"]
