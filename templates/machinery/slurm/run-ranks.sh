# run_ranks: starts the ranks, and returns when they have ended. This shell hears a signal meanwhile.
run_ranks() { { trap : TERM; start_ranks; } & wait "$!"; }
