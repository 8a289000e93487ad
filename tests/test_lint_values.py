"""The values that options take: a table that the schedulers themselves judge, too.

tests/cluster/test_lint_values.py gives the same values to a real sbatch, srun and qsub.
"""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint.option_values import grammar_of
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings

# By option: what Slurm 22.05 takes, and what it refuses; a ; separates values.
SLURM = {
    "time": (
        "5;5-;1-2;1-2:3;1:2:3;1:2;1-00:00:00;infinite;Unlimited;-1",
        "05:00:00:00;1d;24h;:1;1:;::1;1-00:00:00:00;1:00h;2-4h;1-1-1;1.5;+5; 5;race;",
    ),
    "time-min": ("1", "x"),
    "delay-boot": ("1:00;5", "x"),
    "nodes": ("1;2-3;-4;+2;1 ; 1;2 - 3;1-1", "3-2;2-;x;1x;2--3;-;1,x;1.5;"),
    "mem": ("4G;4g;4GB;4gb;0;4096K;+4G;1000", "4.5G;-1;4Gi;4GiB;G;x;4GBB;4B;all;4 G;"),
    "mem-per-cpu": ("2G", "1500B"),
    "tmp": ("1G", "G"),
    "partition": ("a;a,b", ""),
    "ntasks": ("1;+2; 3", "0;-1;x;2x;1.0;1e1;"),
    "cpus-per-task": ("1;4", "0;=4;4,"),
    "core-spec": ("0;1", "x;-1"),
    "switches": ("1;1@10:00;1@x", "0;x"),
    "mail-type": ("BEGIN;begin;NONE;ALL;END,FAIL;TIME_LIMIT_80", "START;TIME_LIMIT_95;abort;,STOP"),
    "signal": (
        "USR1;USR1@60;B:USR1@60;SIGUSR1;B:10@60;10;USR1@;BR:TERM;RB:TERM;usr1;R:USR1;64",
        "RTMIN;USR1@5m;USR1@70000;B;USR3;@60;B:@60;0;B:TERM:60;TERM=60",
    ),
    "array": (
        "1-10;1-10%4;1,3,5;0-20:5;[1-3];1-3]%2;1-10%;1-10%a;1-10:5%2;1,,2;1,;1, 2;0-;1,-;-",
        "5-1;5-;a;1-a;1:3;1..4;-3;1-;1-10:0;1/3;1 2;1-10:x",
    ),
    "dependency": (
        "afterok:1;afterok:1:2;singleton;afterok:1,afterany:2;afterok:1?afterany:2;1;1,2;after:1+5"
        ";afterok:1_2;afterok:1_*;AFTEROK:1;0;singleton,afterok:1;afterok:1,2;2,singleton",
        "afterok;afterok:;afterok:x;1:2;afterok=1;aftersucc:1;afterany:1:afterok:2;afterok:0"
        ";beforeok:1;afterok:1,;after:1+x;afterok:1, afterok:2;2,singleton,afterok:1",
    ),
    "distribution": (
        "block;cyclic;block:block;plane=4;pack;nopack;block,pack;block:block:block;*;*:*"
        ";block:*:fcyclic;block:block,NoPack;cyclic::;Block",
        "plane=0;plane=x;plane:4;fcyclic;random;block:socket;block,x;pack,block;arbitrary:block",
    ),
    "hint": (
        "nomultithread;multithread;compute_bound;memory_bound;nomultithread,compute_bound",
        "no_multithread;cpu_bound;nomultithread,x",
    ),
    "exclusive": ("exclusive;user;mcs;USER", "yes;true;node"),
    "open-mode": ("append;truncate;a;trunc;A", "w;x"),
    "kill-on-invalid-dep": ("yes;no", "true;Y"),
    "no-kill": ("off;set;no", "yes"),
    "gres-flags": ("enforce-binding;disable-binding", "x;enforce"),
    "profile": ("all;task;energy,task;none", "x"),
    "begin": (
        "now;now+1hour;now+1hours;now+60;16:00;16:00:00;2035-01-20T12:34:00;2035-01-20;010135"
        ";01/01/35;tomorrow;today;midnight;noon;teatime;fika;4:00pm;4:00 PM;now + 5minutes"
        ";tomorrow 16:00;now+1 hour;1.2.35;uts1900000000",
        "now+2h;now+1min;25:00;16;2035-13-01;now+;4pm;16:00pm;2035/01/20;never;12:60",
    ),
    "gres": ("gpu;gpu:1;gpu:a100:1;gres:gpu:1;none;gpu:0;gpu: 1",
             "gpu:1:a100;1;gpu:;gpu::1;gpu:a100:x"
             ";gpu:a100:1:1;gpu,1;:1"),
    "gpus": ("1;a100:1", "1:a100;x:y;gpu:a100:1;a100:"),
    "gpus-per-node": ("1;a100:1", "1:a100"),
    "licenses": ("scratch;scratch:1;scratch:1,scratch:2", "scratch:-1;scratch 1"),
    "acctg-freq": ("30;task=30;task=30,energy=10", "x;task=x;mem=3"),
    "mem-bind": ("local;rank;none;no;map_mem:0,1;mask_mem:0x1,0x2;quiet,local;sort", "x;map_mem"),
    "gpu-bind": (
        "closest;none;single:2;per_task:1;map_gpu:0,1;mask_gpu:0x3,3;verbose,closest",
        "x;verbose;single;single:-1;map_gpu:a;mask_gpu:g",
    ),
    "gpu-freq": ("low;900;memory=high;low,memory=900;verbose", "x;max;memory;9x;LOW"),
    "cpu-freq": ("low;highm1;2400000;low-high;performance;2.4GHz", "x;high:performance;0"),
    "extra-node-info": ("1;1:2;*;1-2:3;*:*:1;1:", "x"),
    "wait-all-nodes": ("0;1", "2;x"),
    "priority": ("TOP;5;x", "-5"),
}  # fmt: skip
SRUN = {
    "cpu-bind": (
        "none;cores;core;threads;sockets;v,cores;verbose,cores;map_cpu:0,1;mask_cpu:0xff,0xff00"
        ";rank;ldoms;rank_ldom;map_ldom:0;core,verbose;mapcpu=1;map_cpu:0*2",
        "x;map_cpu;map_cpu:0-3;socket,x;map_cpu:a,b;mask_cpu:ff,g;closest;depth",
    ),
    "threads": ("1", "0;x"),
    "relative": ("0", "x"),
    "kill-on-bad-exit": ("0;1", "x"),
    "wait": ("0;5", "x"),
}
# What other releases take: from 20.11 to 26.05.
NEWER = {
    "nodes": "1,2,4-8:2;1k",
    "exclusive": "topo;allocation",
    "signal": "CHLD;SIGPIPE@5",
    "gres": "gpu=1;gres/gpu:a100=2;shard:4",
    "gres-flags": "enforce-binding,one-task-per-sharing;allow-task-sharing",
    "gpu-bind": "map:0,1;mask:0x1",
    "cpu-bind": "off",
    "begin": "elevenses",
    "licenses": "matlab=2;matlab@server:2;a|b",
    "array": "1-100000%500",
    "requeue": "expedite",
    "segment": "16",
    "oom-kill-step": "0;1",
}
OPENPBS = {
    "l": (
        "walltime=1:00:00;walltime=60;walltime=1.5;mem=4gb;mem=4GB;mem=4g;ncpus=4"
        ";select=1:ncpus=4;select=2;select=1:ncpus=4+1:ncpus=2;select=1:ncpus=4:mem=4gb,walltime=1:0"
        ";select=ncpus=4;place=scatter;place=free:excl;place=vscatter;nodes=2:ppn=4;walltime=;mem=",
        "walltime=24h;walltime=1d;walltime=1-00:00:00;walltime=1:00:00:00;mem=4Gi;mem=4.5gb;mem=gb"
        ";ncpus=x;ncpus=4.5;select=x;select=1:ncpus;select=1:ncpus=x;select=1:mem=4q"
        ";select=1:ncpus=4:;select=1:ncpus=4+;place=random;nodes=1:ppn=x;ncpus=;walltime=1:00:00,",
    ),
    "j": ("oe;eo;n", "y;o;oe,;yes"),
    "m": ("n;a;abe;bea", "a,b,e;xyz;n,a;an;begin"),
    "k": ("o;e;oe;eo;n;doe", "x;on;d"),
    "r": ("y;n", "yes;no;Y;true"),
    "p": ("0;100;-1024;1023;+5", "1024;-1025;x;5x"),
    "J": ("0-4;1-10:2", "5;4-0;0-0;1-10:0;1,2;x"),
    "W": ("depend=afterok:1;depend=on:1;umask=022", "depend=afterok;depend=afterok:;depend=foo:1"
          ";sandbox=x"),
}  # fmt: skip
TORQUE = {
    "l": "nodes=2:ppn=4:gpus=1;nodes=host1+host2:ppn=2#excl;walltime=2:00:00:00;mem=2e",
    "m": "p;abf",
    "t": "0-15%4;1,3,5",
    "W": "depend=afterokarray:1[];x=nodes:2",
}
# What a reader or a program replaces.
PLACEHOLDERS = {
    "time": "HH:MM:SS;dd-hh:mm:ss;$TIME;<time>;{{time}};@TIME@;XX:00:00;time;!TAG_time;TAG_time"
    ";time_limit",
    "nodes": "N;N_NODES;num_nodes;...;1-N",
    "ntasks": "NTASKS;n;XXXtasksXXX;%d",
    "mem": "SIZE;xgb;Mgb",
    "array": "0-N%4;1-NUM",
    "dependency": "afterok:JOBID;afterok:jobid;afterok:<id>",
}
RIGHT = [
    *[(option, value) for option, (taken, _) in {**SLURM, **SRUN}.items()
      for value in taken.split(";")],
    *[(option, value) for option, values in NEWER.items() for value in values.split(";")],
]  # fmt: skip


def pairs(table: dict[str, tuple[str, str]], index: int) -> list[tuple[str, str]]:
    """The options of a table with their values: those that are taken (0) or refused (1)."""
    return [(option, value) for option in table for value in table[option][index].split(";")]


def refused(scheduler: str, option: str, value: str) -> str:
    grammar = grammar_of(scheduler, option)
    assert grammar, option
    return grammar.refused(value)


@pytest.mark.parametrize(("option", "value"), RIGHT)
def test_slurm_takes_it(option: str, value: str) -> None:
    assert refused("slurm", option, value) == ""


@pytest.mark.parametrize(("option", "value"), pairs(SLURM, 1) + pairs(SRUN, 1))
def test_slurm_refuses_it(option: str, value: str) -> None:
    assert refused("slurm", option, value)


@pytest.mark.parametrize(("option", "value"), pairs(OPENPBS, 0))
def test_openpbs_takes_it(option: str, value: str) -> None:
    assert refused("openpbs", option, value) == refused("pbs", option, value) == ""


@pytest.mark.parametrize(("option", "value"), pairs(OPENPBS, 1))
def test_openpbs_refuses_it(option: str, value: str) -> None:
    assert refused("openpbs", option, value)


@pytest.mark.parametrize(("option", "values"), TORQUE.items())
def test_torque_takes_it(option: str, values: str) -> None:
    assert [refused("pbs", option, value) for value in values.split(";")] == [""] * (
        values.count(";") + 1
    )


@pytest.mark.parametrize("piece", ["1", "1,", "1-", "01/02", "map_cpu:0,", "afterok:1,", "a=1:"])
def test_a_long_value_is_judged_at_once(piece: str) -> None:
    """A pattern that tries all ways to read it would take years, and int() refuses 5,000 digits."""
    for scheduler, table in (("slurm", {**SLURM, **SRUN}), ("openpbs", OPENPBS)):
        for option in table:
            for value in (piece * 5000, piece * 5000 + "!"):
                assert refused(scheduler, option, value) in value


def found(script: str) -> list[str]:
    """What JG217 finds in a script."""
    problems = problems_in(script, "job.sh", Settings(select=("JG217",)))
    return [f"{problem.mark.line}:{problem.mark.column}: {problem.text}" for problem in problems]


@pytest.mark.parametrize(("option", "values"), PLACEHOLDERS.items())
def test_a_placeholder_is_no_value(option: str, values: str) -> None:
    for value in values.split(";"):
        assert found(f"#!/bin/bash\n#SBATCH --{option}={value}\nsrun hostname\n") == [], value


def test_a_template_of_pbs_is_none() -> None:
    lines = "#PBS -l walltime=TAG_time\n#PBS -l nodes=N:ppn=X\n#PBS -m TAG_mail\n"
    assert found(f"#!/bin/bash\n{lines}hostname\n") == []


def test_message_names_the_part_that_is_refused() -> None:
    script = "#!/bin/bash\n#SBATCH --mail-type=END,START\n#SBATCH --time=\nsrun hostname\n"
    assert found(script) == [
        "2:9: --mail-type does not take `START`",
        "3:9: --time has no value",
    ]


def test_an_option_with_an_optional_value_takes_no_next_word() -> None:
    """Of 24.05 to 26.05, whose `has_arg` in slurm_opt.c is not `required_argument`."""
    for option in ("stepmgr", "oom-kill-step", "resv-ports", "requeue", "consolidate-segments"):
        assert found(f"#!/bin/bash\n#SBATCH --{option} --time=1d\nsrun hostname\n") == [
            f"2:{12 + len(option)}: --time does not take `1d`"
        ]
    for option in ("async", "wait-for-children", "oom-kill-step", "compress"):
        script = f"#!/bin/bash\nsrun --{option} --ntasks=2x ./program --ntasks=3x\n"
        assert found(script) == [f"2:{9 + len(option)}: --ntasks does not take `2x`"]
    assert found("#!/bin/bash\n#SBATCH --requeue=now\nsrun hostname\n") == [
        "2:9: --requeue does not take `now`"
    ]


def test_options_of_commands_are_read_up_to_the_program() -> None:
    script = """#!/bin/bash
#SBATCH --nodes=2
srun -n 4x --mpi pmix --time 1d ./program --time=1d
srun -N "$N" -t${T}h --cpu-bind=closest ./program
salloc --mem=4.5G
sbatch --dependency=afterok: next.sh
srun --wait 0 --label -K --ntasks=2x ./program -n 0
srun - -n 4x
echo srun -n 4x
"""
    assert found(script) == [
        "3:6: --ntasks does not take `4x`",
        "3:23: --time does not take `1d`",
        "4:22: --cpu-bind does not take `closest`",
        "5:8: --mem does not take `4.5G`",
        "6:8: --dependency does not take `afterok:`",
        "7:26: --ntasks does not take `2x`",
    ]


def test_qsub_of_grid_engine_is_not_read() -> None:
    assert found("#!/bin/bash\n#$ -j y\nqsub -j y -r yes next.sh\n") == []
    script = "#!/bin/bash\n#PBS -j y\nqsub -r yes -l walltime=1d next.sh\n"
    assert found(script) == [
        "2:6: -j does not take `y`",
        "3:6: -r does not take `yes`",
        "3:13: -l does not take `walltime=1d`",
    ]


def test_days_in_a_walltime_are_torque_s() -> None:
    script = "#!/bin/bash\n#PBS -l walltime=2:00:00:00\n{}\nhostname\n"
    assert found(script.format("#PBS -l nodes=1")) == []
    assert found(script.format("#PBS -l select=1")) == [
        "2:6: -l does not take `walltime=2:00:00:00`"
    ]


def test_short_option_with_equals_is_another_rule_s() -> None:
    script = "#!/bin/bash\n#SBATCH -c=2\nsrun hostname\n"
    assert found(script) == []
    codes = [problem.code for problem in problems_in(script, "job.sh", Settings())]
    assert codes == ["JG215"]


def test_options_of_a_heredoc_s_command_are_found_once() -> None:
    script = (
        "#!/bin/bash\nsbatch --time=1d << EOF\n#!/bin/bash\n#SBATCH --mem=4.5G\nhostname\nEOF\n"
    )
    assert found(script) == [
        "2:8: --time does not take `1d`",
        "4:9: --mem does not take `4.5G`",
    ]


@pytest.mark.parametrize(
    "options", ["-E -n -x -l walltime=soon", "-d work -l walltime=soon", "-z -V -l walltime=soon"]
)
def test_options_of_qsub_take_the_same_words_in_a_directive_and_on_a_command_line(
    options: str,
) -> None:
    for script in (f"#PBS {options}\nhostname\n", f"#PBS -N a\nqsub {options} next.sh\n"):
        found = problems_in(f"#!/bin/bash\n{script}", "job.sh", Settings())
        assert [each.text for each in found] == ["-l does not take `walltime=soon`"]
