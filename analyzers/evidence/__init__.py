"""What a pull request claims about its change, held against what the change is."""
