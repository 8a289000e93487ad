(report=2; software; check_torch)
