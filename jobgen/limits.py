"""Every bound of jobgen in one table: what it bounds, and who could do harm without it.

`check`, `build` and `lint` read untrusted repositories, and `why` logs. A bound that only users
with files of their own could meet has no place here. `tests/test_limits.py` looks for the tests.
"""

from typing import NamedTuple


class Limit(NamedTuple):
    """A row of the table; `test` names the test that shows it, as tests/FILE.py::NAME."""

    value: int
    bounds: str
    harm: str
    test: str


TABLE: dict[str, Limit] = {}


def _limit(name: str, value: int, bounds: str, harm: str, test: str) -> int:
    TABLE[name] = Limit(value, bounds, harm, test)
    return value


# ---- messages ----
MESSAGE_CHARACTERS = _limit(
    *("MESSAGE_CHARACTERS", 1000),
    "characters of a message, and of its hint",
    "a file with one long line fills the log of a CI",
    "test_build.py::test_a_problem_and_its_hint_are_shortened",
)
PROBLEMS_SHOWN = _limit(
    *("PROBLEMS_SHOWN", 50),
    "problems that are shown at once",
    "a profile with thousands of mistakes fills the log of a CI",
    "test_files.py::test_a_profile_with_thousands_of_mistakes_is_a_short_message",
)
PROBLEMS_KEPT = _limit(
    *("PROBLEMS_KEPT", 500),
    "problems after which no more are searched for",
    "a manifest in which every script is wrong takes hours",
    "test_build.py::test_a_manifest_that_takes_far_more_than_its_size_is_refused",
)
WORDS_COMPARED = _limit(
    *("WORDS_COMPARED", 256),
    "words that a misspelt one is compared with, for the hint",
    "a manifest with 100,000 names and as many mistakes takes hours",
    "test_build.py::test_a_word_is_compared_with_few_others_for_a_hint",
)
WORD_CHARACTERS = _limit(
    *("WORD_CHARACTERS", 64),
    "characters of such a word",
    "comparing takes the square of the length",
    "test_build.py::test_a_word_is_compared_with_few_others_for_a_hint",
)
DIFF_LINES = _limit(
    *("DIFF_LINES", 2000),
    "lines that differ, beyond which `check` shows no diff",
    "comparing takes the square of them: 47 s were seen",
    "test_check.py::test_a_diff_of_much_is_no_diff",
)

# ---- folders and files ----
FOLDER_DEPTH = _limit(
    *("FOLDER_DEPTH", 64),
    "folders below the one that is searched, and below the one of a manifest for its scripts",
    "1,500 folders in each other end Python up to 3.11; 2,000 for each script take all memory",
    "test_files.py::test_folders_without_end_are_reported",
)
PROFILE_NAMES = _limit(
    *("PROFILE_NAMES", 10_000),
    "files of a folder of profiles, for hints and completion",
    "a folder `profiles` that is a link to / makes each press of the tab key take a minute",
    "test_files.py::test_a_folder_of_profiles_without_end_is_searched_in_part",
)
YAML_BYTES = _limit(
    *("YAML_BYTES", 1 << 20),
    "bytes of a profile or a manifest",
    "a huge untrusted file takes all memory",
    "test_files.py::test_a_file_of_harmful_text_is_refused",
)
YAML_DEPTH = _limit(
    *("YAML_DEPTH", 32),
    "levels of a profile or a manifest",
    "thousands of brackets end Python",
    "test_errors.py::test_messages_for_a_wrong_profile",
)
FILE_NAME_BYTES = _limit(
    *("FILE_NAME_BYTES", 255),
    "bytes of a name in the path of a script, as Linux has it",
    "`build` would find out only when it has written other scripts",
    "test_build.py::test_a_path_that_is_too_long_is_refused",
)
HEADER_OFFSET = _limit(
    *("HEADER_OFFSET", 4096),
    "bytes of a file in which the header of a script must begin",
    "`check` would read every large file of a repository to its end",
    "test_check.py::test_other_files_are_skipped_and_counted",
)
SCRIPT_BYTES = _limit(
    *("SCRIPT_BYTES", 1 << 23),
    "bytes of a script; the lines for 16,384 hosts take four million",
    "a huge script of a stranger takes all memory",
    "test_check.py::test_a_path_that_cannot_be_read_is_wrong_input",
)

# ---- profiles ----
BASES = _limit(
    *("BASES", 32),
    "profiles that one `extends`, and in a chain of them",
    "a chain of thousands ends Python",
    "test_profiles.py::test_more_than_32_bases_are_refused",
)
MERGES = _limit(
    *("MERGES", 128),
    "merges of bases and their bases for one profile",
    "21 small files that extend each other twice are 2,000,000 merges",
    "test_profiles.py::test_profiles_that_extend_each_other_too_often_are_refused",
)
OPTION_VALUES = _limit(
    *("OPTION_VALUES", 512),
    "values of a profile that options change",
    "a script whose header has 80,000 --set keeps `check` busy for hours",
    "test_check.py::test_a_forged_header_runs_nothing_and_is_reported",
)

# ---- jobs ----
HOSTS = _limit(
    *("HOSTS", 1 << 15),
    "hosts of `byhand`; the largest clusters have some 16,000 nodes",
    "a header with --hosts a[1-999999999] takes all memory in `check`",
    "test_check.py::test_a_forged_header_runs_nothing_and_is_reported",
)
HOST_NAMES = _limit(
    *("HOST_NAMES", 1 << 20),
    "names in a list of hosts; a PBS_NODEFILE has one for each rank",
    "the same, with one host a million times",
    "test_byhand.py::test_lists_that_stand_for_too_much",
)
HOST_CHARACTERS = _limit(
    *("HOST_CHARACTERS", 255),
    "characters of a host's name, as DNS has it",
    "a[1-9]…[1-9] stands for names of any length",
    "test_byhand.py::test_lists_that_stand_for_too_much",
)
HOST_BRACKETS = _limit(
    *("HOST_BRACKETS", 8),
    "pairs of brackets in a name; Slurm prints one for each dimension of the network",
    "python-hostlist calls itself for each",
    "test_byhand.py::test_lists_that_stand_for_too_much",
)
JOB_TEXT_BYTES = _limit(
    *("JOB_TEXT_BYTES", 96 * 1024),
    "bytes of the program's words, the variables and the software of a job",
    "Linux takes 128 KiB for one variable (execve(2)), and a node's shell gets them in one: the"
    " job would end on every node",
    "test_hostile.py::test_words_at_the_limit",
)

TEMPLATE_BYTES = _limit(
    *("TEMPLATE_BYTES", 1 << 20),
    "bytes of a template",
    "a link to /dev/zero in the folder `templates` of a clone takes all memory",
    "test_files.py::test_a_pipe_or_a_device_is_no_template",
)

# ---- manifests ----
MANIFEST_SCRIPTS = _limit(
    *("MANIFEST_SCRIPTS", 100_000),
    "scripts of a manifest",
    "a matrix of six lists of ten values is a million files",
    "test_build.py::test_a_matrix_that_is_too_large_is_refused",
)
MATRIX_KEYS = _limit(
    *("MATRIX_KEYS", 64),
    "keys of a matrix",
    "thousands of keys with one value each take the square of their number",
    "test_build.py::test_a_manifest_that_takes_far_more_than_its_size_is_refused",
)
MANIFEST_VALUES = _limit(
    *("MANIFEST_VALUES", 1 << 21),
    "values of all jobs, those of the defaults counted for each job",
    "10,000 jobs times 10,000 values of the defaults take all memory",
    "test_build.py::test_a_manifest_that_takes_far_more_than_its_size_is_refused",
)
MANIFEST_CHARACTERS = _limit(
    *("MANIFEST_CHARACTERS", 1 << 28),
    "characters of the values of all scripts; an ordinary script has some hundreds",
    "a value that is in every script of a large matrix a thousand times",
    "test_build.py::test_a_manifest_that_takes_far_more_than_its_size_is_refused",
)
MANIFEST_FOLDERS = _limit(
    *("MANIFEST_FOLDERS", 1 << 17),
    "folders of all scripts; each of 100,000 scripts may have one of its own",
    "a manifest of 5 kB with 64 folders for each script takes 9 GB of memory, and more of the disk",
    "test_build.py::test_more_folders_than_scripts_need_are_refused",
)
BUILD_BYTES = _limit(
    *("BUILD_BYTES", 1 << 28),
    "bytes of all scripts of a manifest",
    "an untrusted manifest fills the disk",
    "test_build.py::test_scripts_do_not_fill_the_disk",
)
BUILD_BYTES_EACH = _limit(
    *("BUILD_BYTES_EACH", 1 << 16),
    "bytes of a script on average, if that is more in all; one has some 10,000 to 40,000",
    "the same",
    "test_build.py::test_many_ordinary_scripts_may_have_more_bytes_in_all",
)

# ---- lint ----
LINT_BYTES = _limit(
    *("LINT_BYTES", 1 << 20),
    "bytes of a job script, and of pyproject.toml",
    "a huge file takes all memory",
    "test_lint.py::test_large_file_is_not_read",
)
LINT_TRUSTED_BYTES = _limit(
    *("LINT_TRUSTED_BYTES", 1 << 14),
    "bytes above which a file is tried in a child process first",
    "tree-sitter takes 29 s and 5 GB for 50 kB of `a|`, and cannot be interrupted",
    "test_lint.py::test_only_a_long_script_is_tried_first",
)
LINT_NESTING = _limit(
    *("LINT_NESTING", 4),
    "scripts in each other: in heredocs for sbatch or qsub, in strings for a shell",
    "a heredoc in a heredoc, a thousand times",
    "test_lint_script.py::test_scripts_that_submit_scripts_are_read_to_a_bound",
)
LINT_VALUE_CHARACTERS = _limit(
    *("LINT_VALUE_CHARACTERS", 4096),
    "characters that the values of variables add to a word",
    "eleven lines in which each variable is ten times the one before are 10^8 characters",
    "test_lint_script.py::test_values_of_variables_are_bounded",
)

# ---- what `why` reads: the folder of a job, dumps of torch's flight recorder ----
JOB_ENTRIES = _limit(
    *("JOB_ENTRIES", 300_000),
    "files and folders in a job's folder that are looked at; 1,000 nodes of 8 ranks have 28,000",
    "a rank fills its folder, and the last line of the job never comes",
    "diagnosis/test_folders_hostile.py::test_a_folder_of_many_files_is_read_in_part",
)
JOB_FOLDER_BYTES = _limit(
    *("JOB_FOLDER_BYTES", 1 << 29),
    "bytes of a job's folder that are read: the same for each file, at least 2^18, the last ones",
    "a rank that writes without end keeps `why` busy for hours",
    "diagnosis/test_folders_hostile.py::test_of_a_huge_file_the_end_is_read",
)
DUMP_BYTES = _limit(
    *("DUMP_BYTES", 1 << 26),
    "bytes of a rank's dump; one of the usual 2,000 entries has one or two million",
    "a huge untrusted file takes all memory",
    "diagnosis/test_flight_recorder.py::test_a_huge_dump_is_refused",
)

# ---- parsing in a child process first: a large script, a dump of the flight recorder ----
PARSE_SECONDS = _limit(
    *("PARSE_SECONDS", 10),
    "seconds of CPU of the child process that parses; a dump of 20,000 entries takes one",
    "tree-sitter takes 29 s for 50 kB of `a|`; hash() of tuples in tuples never ends",
    "test_lint.py::test_parsing_is_bounded_in_time",
)
PARSE_MEMORY = _limit(
    *("PARSE_MEMORY", 2 << 30),
    "bytes of memory of the child process that parses",
    "50 kB of `a|` take 5 GB; a pickle of 64 MB takes 4 GB for lists, or 64 GB for a number",
    "test_lint.py::test_parsing_is_bounded_in_memory",
)
