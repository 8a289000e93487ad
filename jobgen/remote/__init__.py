"""What `--host` adds: the job's folder on a login node, and files that go there and come back.

It calls the user's own ssh and rsync. Not here: how one command runs there (submission/machine).
"""
