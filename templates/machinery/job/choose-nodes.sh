# The ranks run on the first nodes that are ready; the others are in reserve.
chosen=$(IFS=,; echo "${ready[*]:0:nodes}")
reserve=$(IFS=,; echo "${ready[*]:nodes}")
echo "jobgen: the ranks run on $chosen; in reserve: ${reserve:-no node}" >&2
