"""LAY201 to LAY203: how long functions and files get, and who reaches into whose private parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzers.finding import Finding
from analyzers.layering.policy import ShapePolicy
from analyzers.python.facts import PythonFacts


def check_shape(
    policy: ShapePolicy, path: str, facts: PythonFacts, in_tree: Callable[[str], bool]
) -> Iterator[Finding]:
    """Report what one file has too much of, and its private accesses where the policy asks for them.

    Args:
        policy: the budgets.
        path: the file.
        facts: what it says.
        in_tree: whether an absolute import of a module leads into the tree. What is private to a module outside of
            it, nobody here could make public.
    """
    if policy.max_function_lines is not None:
        yield from _long_functions(policy.max_function_lines, path, facts)
    if policy.max_file_lines is not None and facts.lines > policy.max_file_lines:
        yield Finding(
            rule="LAY202",
            path=path,
            line=0,
            column=0,
            symbol="",
            subject="lines",
            message=f"the file has {facts.lines} lines; the budget is {policy.max_file_lines}",
            hint="Give each of the things that it does a file of its own.",
            amount=facts.lines,
        )
    if policy.private_access:
        yield from _private_accesses(path, facts, in_tree)


def _long_functions(budget: int, path: str, facts: PythonFacts) -> Iterator[Finding]:
    for symbol in facts.symbols:
        length = symbol.end_line - symbol.line + 1
        if symbol.kind == "function" and length > budget:
            yield Finding(
                rule="LAY201",
                path=path,
                line=symbol.line,
                column=0,
                symbol=symbol.name,
                subject=symbol.name,
                message=f"the function `{symbol.name}` has {length} lines; the budget is {budget}",
                hint="Move its steps into functions that are named after what they do.",
                amount=length,
            )


def _private_accesses(path: str, facts: PythonFacts, in_tree: Callable[[str], bool]) -> Iterator[Finding]:
    for access in facts.private:
        if access.origin and not in_tree(access.origin):
            continue
        yield Finding(
            rule="LAY203",
            path=path,
            line=access.line,
            column=access.column,
            symbol=facts.symbol_name(access.symbol),
            subject=f"{access.owner}.{access.name}",
            message=f"uses `{access.name}` of `{access.owner}`, which is private to it",
            hint=f"Use what `{access.owner}` offers in public, or make the name public where it is defined.",
        )
