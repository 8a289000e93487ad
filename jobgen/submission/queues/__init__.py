"""The schedulers' queues: their commands, the states of one job or of many, and the accounting."""
