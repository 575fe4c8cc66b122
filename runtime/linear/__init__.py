"""The product of activations with a weight, dense or packed: declared providers, and the choice among them."""
