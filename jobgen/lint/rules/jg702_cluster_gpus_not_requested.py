"""The nodes of the cluster have GPUs, but the job requests none."""

from jobgen.lint.rules import Findings, Script, finding_at

_GPU_OPTIONS = "gres gpus gpus-per-node gpus-per-task gpus-per-socket tres-per-task".split()


def check(script: Script) -> Findings:
    profile = script.profile
    if not profile or not profile.node.gpus or profile.node.gpu == "none":
        return
    is_for_cluster = script.active_directives and script.scheduler == profile.scheduler
    # Without the option, the jobs of this cluster ask for no GPUs: its nodes are whole.
    if profile.request.gpu_option in (None, "none") or not is_for_cluster:
        return
    gpus, option = profile.node.gpus, profile.request.resource_option
    text = f"the job requests none of the {gpus} GPUs of a node"
    # The older options name GPUs as ngpus=N of the job, or as gpus=N of a node (Torque).
    cures = {"ncpus": "add -l ngpus=N, for the whole job", "nodes": f"add :gpus={gpus}"}
    requests = [each for each in script.active_directives if each.option == "l"]
    if script.scheduler != "pbs":
        if not script.directive(*_GPU_OPTIONS, "exclusive"):
            yield finding_at(script.active_directives[0], text, f"add #SBATCH --gres=gpu:{gpus}")
    elif script.chunk_requests:
        directive, chunks = script.chunk_requests[-1]
        if not any("ngpus" in resources for _, resources in chunks):
            text = f"the chunks request none of the {gpus} GPUs of a node"
            yield finding_at(directive, text, f"add ngpus={gpus} to the chunk")
    elif requests and option in cures and not any("gpus=" in each.value for each in requests):
        yield finding_at(requests[0], text, cures[option])
