-- Lints each script at its submission. `jobgen guard slurm` writes this text; don't edit it.
-- First put it beside slurm.conf on all machines, as cli_filter.lua (or append it to the one that you
-- have). Only then write into slurm.conf, since without the file sbatch and srun end with an error:
--     CLIFilterPlugins=cli_filter/lua
do
  local COMMAND = @COMMAND@
  local setup, pre = slurm_cli_setup_defaults, slurm_cli_pre_submit
  local STDIN = { ["/dev/stdin"] = true, ["/dev/fd/0"] = true, ["/proc/self/fd/0"] = true }
  local of_stdin -- what the guard says about a script from stdin, or nil before it was asked

  local function quoted(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
  end

  -- The words of sbatch's command line, quoted.
  local function words()
    local file = io.open("/proc/self/cmdline", "rb")
    local _, _, rest = file:read("*a"):find("^[^%z]*%z(.*)$")
    file:close()
    return (rest:gsub("([^%z]*)%z", function(word) return quoted(word) .. " " end))
  end

  local function output(command)
    local pipe = io.popen(command, "r")
    local text = pipe:read("*a")
    pipe:close()
    return text or ""
  end

  local function ask(source, name)
    return output("exec " .. COMMAND .. source .. " " .. quoted(name) .. " " .. words() .. " 2>&1")
  end

  -- sbatch has read its stdin when it calls pre_submit, so the guard looks at it before, if it is a
  -- pipe or a file, and no word of the command line but values of options is a file.
  local function ask_of_stdin()
    return output("[ -p /dev/stdin ] || [ -f /dev/stdin ] || exit 0; set -- " .. words() .. "\n"
      .. 'last=; for word; do case $last in --*=*|@FLAGS@) last=;; esac\n'
      .. 'case $last,$word in *,--wrap*) exit 0;; -[!HhIkOQsVvW],*|--?*,*);; *)\n'
      .. '[ ! -f "$word" ] || exit 0;; esac; last=$word; done\n'
      .. "exec " .. COMMAND .. 'stdin - "$@" 2>&1')
  end

  local function is_refused(options)
    local script, wrap, answer = options["argv"][1], options["wrap"], of_stdin
    if wrap then answer = ask("text", wrap)
    elseif script and not (STDIN[script] and answer ~= "") then answer = ask("file", script) end
    local verdict, lines = answer:match("^(%l+)\n(.*)")
    if not verdict then
      local reason = answer:match("([^\n]+)\n*$") or "no answer in time"
      os.execute('logger -t jobgen-guard -p user.warning "a script of $(id -un) was not linted: "'
        .. quoted(reason) .. " </dev/null >/dev/null 2>&1 &") -- else a $(sbatch ...) would wait for it
    end
    local say = verdict == "refused" and slurm.log_error or slurm.log_info
    for line in (lines or ""):gmatch("[^\n]+") do say("%s", line) end
    return verdict == "refused"
  end

  function slurm_cli_setup_defaults(options, early)
    if not of_stdin and options["type"] == "sbatch" then
      local done, answer = pcall(ask_of_stdin)
      of_stdin = done and answer or ""
    end
    return setup and setup(options, early) or slurm.SUCCESS
  end

  function slurm_cli_pre_submit(options, offset)
    if options["type"] == "sbatch" and offset == 0 then
      local done, refused = pcall(is_refused, options)
      if done and refused then return slurm.ERROR end
    end
    return pre and pre(options, offset) or slurm.SUCCESS
  end

  slurm_cli_post_submit = slurm_cli_post_submit or function() return slurm.SUCCESS end
end
