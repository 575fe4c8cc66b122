"""The pages of the configuration rules."""

from __future__ import annotations

from analyzers.finding import Rule

_SETTINGS = '```toml\n[tool.gates.config]\nroots = ["app.config.AppConfig"]\n```\n\n'

RULES: tuple[Rule, ...] = (
    Rule(
        code="CFG001",
        name="unowned-config-class",
        what="Reports a class of the configuration packages that no root owns. A root owns the classes that the"
        " annotations of its fields name, what these name, and so on; also in containers and unions, through aliases"
        " and re-exports, as base classes, and as subclasses of what is named. Classes count that are records:"
        " dataclasses, attrs classes, pydantic models, msgspec structs, and those under one of `decorators`.",
        why="Configuration that hangs on no root is passed around by hand or kept in a global: it has no place in the"
        " hash, in the report of what is set, or on the command line, and nobody finds it by looking.",
        bad=_SETTINGS + "```python\n# app/config.py\n@dataclass\nclass AppConfig:\n    model: ModelConfig\n\n\n"
        "@dataclass\nclass CacheConfig:\n    block_size: int = 16\n```",
        good="```python\n# app/config.py\n@dataclass\nclass AppConfig:\n    model: ModelConfig\n"
        "    cache: CacheConfig\n```",
        fix="Give the class a field in the class that should own it. A record that is no configuration belongs in"
        " another package; where configuration classes can be told by their names, `classes` says how.",
    ),
    Rule(
        code="CFG002",
        name="ambiguous-alias",
        what="Reports an environment variable that feeds two fields: by a table under `aliases`, by the metadata of"
        " the fields, as a pydantic settings class, or because both read it in their defaults or lifecycle methods.",
        why="Whoever sets the variable means one thing and changes two; and where the two have different defaults or"
        " parsers, one variable has two meanings.",
        bad='```python\nblock_size: int = setting(16, env="APP_BLOCK")\npage_size: int = setting(64, env="APP_BLOCK")\n'
        "```",
        good='```python\nblock_size: int = setting(16, env="APP_BLOCK_SIZE")\npage_size: int = setting(64,'
        ' env="APP_PAGE_SIZE")\n```',
        fix="Keep one of the fields and derive the other from it, or give each a variable of its own and deprecate the"
        " old one.",
    ),
    Rule(
        code="CFG003",
        name="unread-field",
        what="Reports a field of an owned class that nothing reads: no attribute chain that starts at something typed"
        " as configuration leads to it, its name is not that of any attribute that a file of `readers` gets at,"
        " `getattr` by a literal included, and neither an object of its class nor a mapping of its fields is spread"
        " into a call.\n\nWalking through all fields, as `asdict` and a hash do, is no reading: it would hide every"
        " field that has no effect.",
        why="A setting without a reader is a promise that nobody keeps. Users tune it, bug reports mention it, and"
        " every refactoring carries it along.",
        bad="```python\n@dataclass\nclass CacheConfig:\n    block_size: int = 16\n    watermark: float = 0.01  # its"
        " reader went a year ago\n```",
        good="```python\n@dataclass\nclass CacheConfig:\n    block_size: int = 16\n```",
        fix="Delete the field, or use it where its value should matter. A field that is only kept for old command lines"
        " deserves a waiver with an end.",
    ),
    Rule(
        code="CFG004",
        name="unhashed-field",
        what="Reports a field of a class with a hash method (`hash-methods`) that the method neither takes in nor"
        " names, and that is not declared diagnostic. The methods that it calls on `self` count with it, `super()` too."
        " A method that walks through all fields takes in every one, and may name those that it leaves out. A field is"
        " declared diagnostic by its metadata (`diagnostic-key`) or under `diagnostic`.",
        why="A hash that forgets a field lets two different computations share one compiled graph or one cache entry:"
        " a wrong result that appears on the second run only.",
        bad='```python\n@dataclass\nclass CacheConfig:\n    block_size: int = 16\n    codec: str = "fp16"\n\n'
        "    def compute_hash(self):\n        return digest([self.block_size])\n```",
        good="```python\n    def compute_hash(self):\n        return digest([self.block_size, self.codec])\n```",
        fix="Add the field to the hash. If it cannot change what is computed, declare that.",
    ),
    Rule(
        code="CFG005",
        name="foreign-environment-read",
        what="Reports a read of an environment variable that feeds a field, in a file that neither declares the alias"
        " nor the field and that is not listed under `environment-owners`. A call of one of the `wrappers` of the"
        " environment gate's table is such a read too.",
        why="The field has a default, other sources that win over the environment, and overrides. Code that asks the"
        " environment itself sees none of them, so that two parts of one process follow two policies.",
        bad='```python\n# app/engine.py\nsize = int(os.getenv("APP_BLOCK_SIZE", "16"))\n```',
        good="```python\n# app/engine.py\nsize = config.cache.block_size\n```",
        fix="Take the configuration as an argument and read the field.",
    ),
    Rule(
        code="CFG006",
        name="mutable-config-global",
        what="Reports a name at module level of a configuration package that changes while the program runs: a function"
        " binds it anew, or it holds a list, dict or set that starts empty or that a function changes. What a module"
        " fills while it loads, and a container that no function changes, are constants.",
        why="It is a setting without a field: no root owns it, two engines in one process share it, and a test that"
        " touches it changes the next one.",
        bad="```python\n# app/config.py\n_current: AppConfig | None = None\n\n\ndef set_config(config):\n"
        "    global _current\n    _current = config\n```",
        good="```python\n# app/engine.py\nclass Engine:\n    def __init__(self, config: AppConfig) -> None:\n"
        "        self.config = config\n```",
        fix="Hand the object to those who use it. A table that is only read becomes a `MappingProxyType` or a tuple.",
    ),
    Rule(
        code="CFG007",
        name="second-owner",
        what="Reports a field that speaks of a resource which another field owns. `[[config.resources]]` names each"
        " resource, its owner, and the pattern that matches the names of the fields which speak of it.",
        why="Two settings for one pool of memory, one port or one seed can contradict each other, and which of them"
        " wins is decided by whoever is asked first.",
        bad='```toml\n[[tool.gates.config.resources]]\nname = "the memory of the cache"\nfields = ".*memory_bytes"\n'
        'owner = "cache.memory_bytes"\n```\n\n'
        "```python\n@dataclass\nclass WorkerConfig:\n    kv_memory_bytes: int | None = None\n```",
        good="```python\n@dataclass\nclass CacheConfig:\n    memory_bytes: int | None = None\n```",
        fix="Remove the second field and read the owner, or make it the owner and remove the first.",
    ),
    Rule(
        code="CFG008",
        name="dangling-alias",
        what="Reports an entry of a table under `aliases` whose owner path leads to no field.",
        why="The variable is documented and does nothing, or fails when somebody first sets it.",
        bad='```python\nVARIABLES = (Variable(name="APP_BLOCK_SIZE", owner="cache.blocksize"),)\n```',
        good='```python\nVARIABLES = (Variable(name="APP_BLOCK_SIZE", owner="cache.block_size"),)\n```',
        fix="Name the owner path of the field: the attributes from the root to it, with dots.",
    ),
    Rule(
        code="CFG009",
        name="unparsed-config-file",
        what="Reports a file that declares or imports configuration and that the Python which runs the gates cannot"
        " parse, even after newer syntax has been put into older words. A syntax error is `SRC002` instead.",
        why="The fields and readers in it are unknown, so that nothing which the other rules say about them holds.",
        bad="```python\nlimits = ((((((...))))))  # nested more deeply than the parser can follow\n```",
        good="```python\nlimits = read_limits()\n```",
        fix="Run the gates with the Python that the file is written for, or simplify what it cannot parse.",
    ),
)
"""Every rule of the config gate, in order of code."""
