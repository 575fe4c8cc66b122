"""Declared routes: the tables that say how an operator may run, and the native operators that they bind."""
