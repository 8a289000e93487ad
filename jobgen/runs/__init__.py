"""What ran: the record that each job leaves, a small file, and what can be told from records.

`records` reads and writes them; the script of a job writes its own, by templates/machinery/job.
Not here: why a job failed (diagnosis/), and whether it is still in the queue (submission/).
"""
