"""What concerns a site's nodes, beyond the verdict on one job.

Here are the table of the jobs in a folder, with the nodes to leave out (many_jobs), and the mail to
the site's administrators (mail). Not here: how a verdict is made (judging/) and shown (report).
"""
