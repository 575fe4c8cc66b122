"""What a tree looks like to somebody who has never seen it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from analyzers.globs import matcher
from analyzers.layering.modules import Modules
from gates.init.documents import Documents, detect_documents
from gates.init.environment import Environment, EnvironmentSurvey
from gates.init.layers import LayerGuess, LayerSurvey
from gates.init.owners import Owner, OwnerSurvey
from gates.init.registries import Registry, RegistrySurvey
from gates.init.sizes import Sizes, SizeSurvey
from gates.init.tables import NATIVE, TableSurvey

Read = Callable[[str], bytes | None]
"""The bytes of one file; None when it cannot be read."""

_FOREIGN_FOLDERS = ("third_party", "thirdparty", "3rdparty", "vendor", "vendored", "_vendor", "node_modules")
_GENERATED = ("**/*_pb2.py", "**/*_pb2_grpc.py")
_TEST_FOLDERS = ("test", "tests")


class Detected(Struct, frozen=True):
    """Everything that starting settings are made of."""

    excluded: tuple[str, ...]
    """Globs of what others wrote: vendored folders and generated modules."""
    modules: int
    """How many Python files there are, the excluded ones left out."""
    packages: tuple[tuple[str, int], ...]
    """Top-level packages and modules with the number of their files, largest first; tests left out."""
    source_roots: tuple[str, ...]
    tests: tuple[str, ...]
    """Globs of folders that hold tests."""
    sizes: Sizes
    environment: Environment
    registries: tuple[Registry, ...]
    """Of variables with one of the tree's own prefixes."""
    layers: LayerGuess | None
    owner: Owner | None
    """The class that seems to own the configuration."""
    tables: tuple[str, ...]
    """Dotted names of what seem to be tables of routes."""
    namespaces: tuple[str, ...]
    """Of native operators that the tree registers."""
    documents: Documents


def detect(paths: Iterable[str], read: Read) -> Detected:
    """Look at a tree: its paths (POSIX, relative to its root), and the bytes of its Python and C++ files.

    Hardly anything is parsed: what the bytes suggest is good enough for a guess that a person will read. A registry
    is read as its gate will read it, since it is switched on.
    """
    paths = [path for path in paths if _can_be_written_down(path)]
    excluded = _excluded(paths)
    covers = matcher(excluded)
    own = [path for path in paths if not covers(path)]
    modules = Modules(own)
    tests = _folders_named(_TEST_FOLDERS, modules.paths)
    packages = _packages(modules, tests)

    sizes, environment, registries = SizeSurvey(), EnvironmentSurvey(), RegistrySurvey()
    layers = LayerSurvey(modules, packages[0][0]) if packages else None
    owners, tables = OwnerSurvey(), TableSurvey()
    is_test = matcher(tests)
    for number, (name, path) in enumerate(zip(modules.names, modules.paths, strict=True)):
        data = read(path) or b""
        sizes.add(data)
        environment.add(path, data)
        if layers is not None:
            layers.add(number, data)
        if not is_test(path):
            registries.add(path, data)
            owners.add(name, data)
            tables.add_python(name, data)
    for path in own:
        if path.endswith(NATIVE):
            tables.add_native(read(path) or b"")
    variables = environment.result({name for name, _ in packages})
    prefixes = {prefix for prefix, _ in variables.prefixes} | {f"{name.upper()}_" for name, _ in packages}
    return Detected(
        excluded=excluded,
        modules=len(modules),
        packages=packages,
        source_roots=tuple(root or "." for root in modules.roots),
        tests=tests,
        sizes=sizes.result(),
        environment=variables,
        registries=tuple(registry for registry in registries.found if registry.prefix in prefixes),
        layers=layers.guess() if layers is not None else None,
        owner=owners.owner(),
        tables=tuple(tables.tables),
        namespaces=tuple(sorted(tables.namespaces)),
        documents=detect_documents(own, read),
    )


def _can_be_written_down(path: str) -> bool:
    """Whether a settings file, which is UTF-8, can name the path."""
    return path.isprintable()


def _excluded(paths: Sequence[str]) -> tuple[str, ...]:
    generated = tuple(glob for glob in _GENERATED if any(map(matcher([glob]), paths)))
    judged = [path for path in paths if path.endswith((".py", ".md"))]
    return _folders_named(_FOREIGN_FOLDERS, judged) + generated


def _packages(modules: Modules, tests: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    is_test = matcher(tests)
    names = [name for name, path in zip(modules.names, modules.paths, strict=True) if not is_test(path)]
    tops = Counter(name.partition(".")[0] for name in names)
    return tuple((top, files) for top, files in tops.most_common() if top.isidentifier())


def _folders_named(names: Iterable[str], paths: Iterable[str]) -> tuple[str, ...]:
    """A glob for each of the names that some folder of the tree has."""
    present = {part for path in paths for part in path.split("/")[:-1]}
    return tuple(f"**/{name}" for name in names if name in present)
