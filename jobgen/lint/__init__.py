"""Reads job scripts, ours and anybody's, and says what will go wrong with them."""
