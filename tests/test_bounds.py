"""Each bound says what it is for and has a test that exists, and its number is written once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from jobgen import bounds as bounds_module

FOLDER = Path(__file__).parent
PACKAGE = FOLDER.parent / "jobgen"

# Numbers of the table that mean something else where they stand.
OTHER_MEANINGS = {
    ("diagnosis/files.py", 4096): "bytes that show what a file is",
    ("diagnosis/lines/census.py", 1 << 17): "bytes at the end of a block that are searched",
    ("diagnosis/lines/aftermath.py", 2000): "lines after an error in which a job goes on",
    ("diagnosis/lines/file_events.py", 10_000): "streams of lines that are followed",
    ("diagnosis/lines/labels.py", 2000): "a leap year",
    ("diagnosis/reader.py", 1 << 20): "bytes that are read at once",
    ("diagnosis/reader.py", 1 << 16): "bytes of a line, and of a sample",
    ("diagnosis/reader.py", 2000): "characters of a line's shape",
    ("keeper/lead.py", 1 << 16): "bytes that are read at once, and of a line",
    ("profiles/kinds.py", 4096): "characters of Linux's longest path",
    ("profiles/kinds.py", 1 << 16): "cores that Slurm can count",
    ("profiles/kinds.py", 1 << 20): "nodes that Slurm can count",
    ("quoting.py", 4096): "words in a cache",
    ("trainers/checkup/node.py", 64 << 20): "bytes that are copied",
    ("trainers/checkup/exchanges.py", 256 << 20): "bytes that a pair of nodes exchanges",
    ("repository/script_paths.py", 4096): "bytes of Linux's longest path",
    ("schedulers/slurm_directives.py", 4096): "bytes of a path that Slurm takes",
    ("schedulers/slurm_directives.py", 1 << 16): "bytes of a value that Slurm takes",
}
VALUES = {name: value for name, value in vars(bounds_module).items() if isinstance(value, int)}
UNUSUAL = {value for value in VALUES.values() if value >= 2000}
HUGE_MANIFEST = "test_build.py::test_a_manifest_that_takes_far_more_than_its_size_is_refused"
# The test that shows each bound.
TESTS = {
    "MESSAGE_CHARACTERS": "test_build.py::test_a_problem_and_its_hint_are_shortened",
    "PROBLEMS_SHOWN": "test_files.py::test_a_profile_with_thousands_of_mistakes_is_a_short_message",
    "PROBLEMS_KEPT": HUGE_MANIFEST,
    "WORDS_COMPARED": "test_build.py::test_a_word_is_compared_with_few_others_for_a_hint",
    "WORD_CHARACTERS": "test_build.py::test_a_word_is_compared_with_few_others_for_a_hint",
    "DIFF_LINES": "test_check.py::test_a_diff_of_much_is_no_diff",
    "FOLDER_DEPTH": "test_files.py::test_folders_without_end_are_reported",
    "PROFILE_NAMES": "test_files.py::test_a_folder_of_profiles_without_end_is_searched_in_part",
    "YAML_BYTES": "test_files.py::test_a_file_of_harmful_text_is_refused",
    "YAML_DEPTH": "test_errors.py::test_messages_for_a_wrong_profile",
    "FILE_NAME_BYTES": "test_build.py::test_a_path_that_is_too_long_is_refused",
    "HEADER_OFFSET": "test_check.py::test_other_files_are_skipped_and_counted",
    "SCRIPT_BYTES": "test_check.py::test_a_path_that_cannot_be_read_is_wrong_input",
    "BASES": "test_profiles.py::test_a_chain_of_more_than_32_profiles_is_refused",
    "MERGES": "test_profiles.py::test_profiles_that_extend_each_other_too_often_are_refused",
    "OPTION_VALUES": "test_check.py::test_a_forged_header_runs_nothing_and_is_reported",
    "HOSTS": "test_check.py::test_a_forged_header_runs_nothing_and_is_reported",
    "HOST_NAMES": "test_byhand.py::test_lists_that_stand_for_too_much",
    "HOST_CHARACTERS": "test_byhand.py::test_lists_that_stand_for_too_much",
    "HOST_BRACKETS": "test_byhand.py::test_lists_that_stand_for_too_much",
    "JOB_TEXT_BYTES": "test_hostile.py::test_words_at_the_limit",
    "TEMPLATE_BYTES": "test_files.py::test_a_pipe_or_a_device_is_no_template",
    "LOCK_BYTES": "test_environment.py::test_wrong_locks",
    "MANIFEST_SCRIPTS": "test_build.py::test_a_matrix_that_is_too_large_is_refused",
    "MATRIX_KEYS": HUGE_MANIFEST,
    "MANIFEST_VALUES": HUGE_MANIFEST,
    "MANIFEST_CHARACTERS": HUGE_MANIFEST,
    "MANIFEST_FOLDERS": "test_build.py::test_more_folders_than_scripts_need_are_refused",
    "BUILD_BYTES": "test_build.py::test_scripts_do_not_fill_the_disk",
    "BUILD_BYTES_EACH": "test_build.py::test_many_ordinary_scripts_may_have_more_bytes_in_all",
    "LINT_BYTES": "test_lint.py::test_large_file_is_not_read",
    "LINT_TRUSTED_BYTES": "test_lint.py::test_only_a_long_script_is_tried_first",
    "LINT_NESTING": "test_lint_script.py::test_scripts_that_submit_scripts_are_read_to_a_bound",
    "LINT_VALUE_CHARACTERS": "test_lint_script.py::test_values_of_variables_are_bounded",
    "LINT_ASSIGNMENTS": "test_lint_flow.py::test_variable_that_is_assigned_often_is_not_followed",
    "JOB_ENTRIES": "diagnosis/test_folders_hostile.py::test_a_folder_of_many_files_is_read_in_part",
    "JOB_FOLDER_BYTES": "diagnosis/test_folders_hostile.py::test_of_a_huge_file_the_end_is_read",
    "DUMP_BYTES": "diagnosis/test_flight_recorder.py::test_a_huge_dump_is_refused",
    "ANSWER_BYTES": "diagnosis/test_answers.py::test_any_bytes_are_an_answer_or_a_log",
    "RECORD_BYTES": "test_runs.py::test_a_huge_record_is_none",
    "REGISTRY_BYTES": "test_registry_update.py::test_an_archive_that_takes_all_memory_is_refused",
    "REGISTRY_FILES": "test_registry_update.py::test_a_release_of_too_many_files_is_refused",
    "PARSE_SECONDS": "test_lint.py::test_parsing_is_bounded_in_time",
    "PARSE_MEMORY": "test_lint.py::test_parsing_is_bounded_in_memory",
    "GUARD_CHILDREN": "test_guard.py::test_connections_that_send_nothing_end_at_the_limit",
    "ANSWER_SECONDS": "test_agents.py::test_an_answer_is_bounded_in_time",
    "ANSWER_CHARACTERS": "test_agents.py::test_an_answer_is_bounded_in_size",
}


def bounds() -> dict[str, tuple[str, str]]:
    """What each limit bounds, and what could happen without it: the comment above its value."""
    text = (PACKAGE / "bounds.py").read_text(encoding="utf-8")
    rows = re.findall(r"((?:^# .*\n)+)^([A-Z_]+) = ", re.sub("# ----.*\n", "", text), re.MULTILINE)
    comments = {
        name: re.sub(r"(?m)^# ", "", text).replace("\n", " ").strip() for text, name in rows
    }
    return {name: text.rpartition("; else ")[::2] for name, text in comments.items()}


@cache
def functions(file: str) -> frozenset[str]:
    """The names of the test functions of a file."""
    tree = ast.parse((FOLDER / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("name", VALUES)
def test_a_bound_says_what_it_bounds_and_the_harm_and_has_a_test(name: str) -> None:
    assert VALUES[name] > 0
    assert all(bounds()[name])
    file, _, function = TESTS[name].partition("::")
    assert function.startswith("test_")
    assert function in functions(file)


def test_no_bound_is_named_that_does_not_exist() -> None:
    assert list(VALUES) == list(bounds()) == list(TESTS)


def numbers(tree: ast.AST) -> Iterator[int]:
    """The whole numbers of a module, those of expressions such as 1 << 20, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.BinOp):
            try:
                value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
            except (NameError, TypeError):  # it is no number
                continue
            if isinstance(value, int):
                yield value


def test_the_number_of_a_bound_is_written_once() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(PACKAGE).as_posix()
        found |= {(name, number) for number in UNUSUAL.intersection(numbers(module))}
    assert {place for place in found if place[0] != "bounds.py"} == OTHER_MEANINGS.keys()
