"""Static analysers: source -> facts -> findings. Never imports Torch or the code that it judges."""
