"""The parts of the trainer doctor: what it measures, its verdict, and what it prints.

Not here: its options and its file of results (trainers/doctor.py), and the report (jobgen/doctor/).
"""
