"""For coding agents: the server of `jobgen mcp`, and the section of `jobgen agents-file`.

Each answer of the server is one run of the command line, in a process of its own, which reads one
folder. Not here: anything that the command line cannot do. docs/agents.md is the page for users.
"""
