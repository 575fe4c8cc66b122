"""Baselines and waivers: which findings a team has accepted for now."""
