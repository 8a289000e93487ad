"""What several trainers have in common: each takes what it needs along.

Not here: what one trainer alone does (trainers/, and checkup/ for doctor).
"""
