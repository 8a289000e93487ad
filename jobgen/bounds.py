"""Every bound of jobgen: what it bounds, and who could do harm without it.

`check`, `build` and `lint` read untrusted repositories, and `why` logs. A bound that only users
with files of their own could meet has no place here. `tests/test_bounds.py` names the test of each,
and docs/security.md has a table of them all, made of the comments here.
"""

# ---- messages ----
# characters of a message, and of its hint; else a file with one long line fills the log of a CI
MESSAGE_CHARACTERS = 1000
# problems that are shown at once; else a profile with thousands of mistakes fills the log of a CI
PROBLEMS_SHOWN = 50
# problems after which no more are searched for; else a manifest in which every script is wrong
# takes hours
PROBLEMS_KEPT = 500
# words that a misspelt one is compared with, for the hint; else a manifest with 100,000 names and
# as many mistakes takes hours
WORDS_COMPARED = 256
# characters of such a word; else comparing takes the square of the length
WORD_CHARACTERS = 64
# lines that differ, beyond which `check` shows no diff; else comparing takes the square of them: 47
# s were seen
DIFF_LINES = 2000

# ---- folders and files ----
# folders below the one that is searched, and below the one of a manifest for its scripts; else
# 1,500 folders in each other end Python up to 3.11; 2,000 for each script take all memory
FOLDER_DEPTH = 64
# files of a folder of profiles, for hints and completion; else a folder `profiles` that is a link
# to / makes each press of the tab key take a minute
PROFILE_NAMES = 10_000
# bytes of a profile or a manifest; else a huge untrusted file takes all memory
YAML_BYTES = 1 << 20
# levels of a profile or a manifest; else thousands of brackets end Python
YAML_DEPTH = 32
# bytes of a name in the path of a script, as Linux has it; else `build` would find out only when it
# has written other scripts
FILE_NAME_BYTES = 255
# bytes of a file in which the header of a script must begin; else `check` would read every large
# file of a repository to its end
HEADER_OFFSET = 4096
# bytes of a script; the lines for 16,384 hosts take four million; else a huge script of a stranger
# takes all memory
SCRIPT_BYTES = 1 << 23

# ---- profiles ----
# profiles in a chain in which each extends the next; else a chain of thousands ends Python
BASES = 32
# merges of bases and their bases for one profile; else 21 small files that extend each other twice
# are 2,000,000 merges
MERGES = 128
# values of a profile that options change; else a script whose header has 80,000 --set keeps `check`
# busy for hours
OPTION_VALUES = 512

# ---- jobs ----
# hosts of `byhand`; the largest clusters have some 16,000 nodes; else a header with --hosts
# a[1-999999999] takes all memory in `check`
HOSTS = 1 << 15
# names in a list of hosts; a PBS_NODEFILE has one for each rank; else the same, with one host a
# million times
HOST_NAMES = 1 << 20
# characters of a host's name, as DNS has it; else a[1-9]…[1-9] stands for names of any length
HOST_CHARACTERS = 255
# pairs of brackets in a name; Slurm prints one for each dimension of the network; else
# python-hostlist calls itself for each
HOST_BRACKETS = 8
# bytes of the program's words, the variables and the software of a job; else Linux takes 128 KiB
# for one variable (execve(2)), and a node's shell gets them in one: the job would end on every node
JOB_TEXT_BYTES = 96 * 1024
# bytes of a template; else a link to /dev/zero in the folder `templates` of a clone takes all
# memory
TEMPLATE_BYTES = 1 << 20
# bytes of a uv.lock, and of files beside it; that of a large project has two million; else a link
# to /dev/zero in a clone takes all memory
LOCK_BYTES = 20_000_000

# ---- manifests ----
# scripts of a manifest; else a matrix of six lists of ten values is a million files
MANIFEST_SCRIPTS = 100_000
# keys of a matrix; else thousands of keys with one value each take the square of their number
MATRIX_KEYS = 64
# values of all jobs, those of the defaults counted for each job; else 10,000 jobs times 10,000
# values of the defaults take all memory
MANIFEST_VALUES = 1 << 21
# characters of the values of all scripts; an ordinary script has some hundreds; else a value that
# is in every script of a large matrix a thousand times
MANIFEST_CHARACTERS = 1 << 28
# folders of all scripts; each of 100,000 scripts may have one of its own; else a manifest of 5 kB
# with 64 folders for each script takes 9 GB of memory, and more of the disk
MANIFEST_FOLDERS = 1 << 17
# bytes of all scripts of a manifest; else an untrusted manifest fills the disk
BUILD_BYTES = 1 << 28
# bytes of a script on average, if that is more in all; one has some 10,000 to 40,000; else the same
BUILD_BYTES_EACH = 1 << 16

# ---- lint ----
# bytes of a job script, and of pyproject.toml; else a huge file takes all memory
LINT_BYTES = 1 << 20
# bytes above which a file is tried in a child process first; else tree-sitter takes 29 s and 5 GB
# for 50 kB of `a|`, and cannot be interrupted
LINT_TRUSTED_BYTES = 1 << 14
# scripts in each other: in heredocs for sbatch or qsub, in strings for a shell; else a heredoc in a
# heredoc, a thousand times
LINT_NESTING = 4
# characters that the values of variables add to a word; else eleven lines in which each variable is
# ten times the one before are 10^8 characters
LINT_VALUE_CHARACTERS = 4096
# assignments of a variable that lint follows; else one that is assigned 3,000 times, in 15 kB,
# takes minutes
LINT_ASSIGNMENTS = 64

# ---- what `why` reads: the folder of a job, dumps of torch's flight recorder ----
# files and folders in a job's folder that are looked at; 1,000 nodes of 8 ranks have 28,000; else a
# rank fills its folder, and the last line of the job never comes
JOB_ENTRIES = 300_000
# bytes of a job's folder that are read: the same for each file, at least 2^18, the last ones; else
# a rank that writes without end keeps `why` busy for hours
JOB_FOLDER_BYTES = 1 << 29
# bytes of a rank's dump; one of the usual 2,000 entries has one or two million; else a huge
# untrusted file takes all memory
DUMP_BYTES = 1 << 26
# bytes of an answer of sacct, scontrol, qstat or NCCL that somebody saved; a longer file is a log;
# else a huge untrusted file takes all memory
ANSWER_BYTES = 1 << 21

# ---- what `runs` reads: records of jobs ----
# bytes of a job's record; one of 10,000 nodes has some 200,000; else a huge file in a folder of
# logs takes all memory
RECORD_BYTES = 1 << 21

# ---- what `profiles update` reads: a release of the registry ----
# bytes of a release of the registry, of its archive and unpacked; one has some two million; else an
# archive of 1 MB that is all zeros takes all memory
REGISTRY_BYTES = 1 << 26
# files and folders of a release; one has some 300; else a release of 100,000 empty files fills the
# folder of settings
REGISTRY_FILES = 10_000

# ---- parsing in a child process first: a large script, a dump of the flight recorder ----
# seconds of CPU of the child process that parses; a dump of 20,000 entries takes one; else
# tree-sitter takes 29 s for 50 kB of `a|`; hash() of tuples in tuples never ends
PARSE_SECONDS = 10
# bytes of memory of the child process that parses; else 50 kB of `a|` take 5 GB; a pickle of 64 MB
# takes 4 GB for lists, or 64 GB for a number
PARSE_MEMORY = 2 << 30

# ---- what `guard serve` accepts ----
# submissions that the guard judges at once; else connections that send nothing are processes
# without number
GUARD_CHILDREN = 64

# ---- answers of `jobgen mcp` ----
# seconds for an answer; else a template without an end, in a clone that nobody has read, keeps a
# process busy for ever
ANSWER_SECONDS = 300
# characters of the result in an answer; else the diff of many scripts fills all that an agent can
# read
ANSWER_CHARACTERS = 24_000
