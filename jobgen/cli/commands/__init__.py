"""The commands, those of one subject in a file each; `app` imports a file when it is asked for."""
