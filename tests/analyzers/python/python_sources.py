"""Valid Python that a reader without a parser may well get wrong, by hand and by chance."""

from __future__ import annotations

from hypothesis import strategies as st

NASTY = [
    "",
    "\n",
    "#",
    "x",
    "\f",
    "\f'doc'\nimport a\n",
    "'doc'; import a",
    "('doc')\n",
    "('a'\n 'b' # c\n)\n",
    "'a' 'b'\n",
    "'a' f'b'\n",
    "f'a'\n",
    "b'a'\n",
    "rb'a'\n",
    "u'a' r'b'\n",
    "'a' + 'b'\n",
    "'a'.x\n",
    "'a',\n",
    "'a' if b else 'c'\n",
    "'a' \\\n 'b'\n",
    "# c\n\n'doc'\n'not doc'\n",
    "class A: 'doc'\n",
    "class A: 'doc'; x = 1\n",
    "class A:\n  # c\n\n  'doc'\nx\n",
    "class A(\n  B, # c\n): # d\n  '''doc\n'''\n",
    "def f(x: 'int' = ':') -> 'str': 'doc'\n",
    "def f(x=lambda y: 'a', *, z={1: 2}[1:]): 'doc'\n",
    "def f() -> lambda: 'x': 'doc'\n",
    "def f(x): return 'no'\n",
    "def f(): x: 'no'\n",
    "async def f():\n  'doc'\n  await g()\n",
    "async  def  f ( ) : pass\n",
    "async def \\\n f(): pass\n",
    "def f(): pass\n\n\n# end\n",
    "def f():\n    pass\n    # c\n# d\n",
    "def f():\n    x = (\n1\n)\n\nx\n",
    "def f():\n    '''\nx\n'''\n",
    "def f():\n    pass;\n",
    "def f():\n    x = 1 \\\n\n\ny\n",
    "def f():\n  def g():\n    pass\n  x = 1\nif x:\n    import a\n",
    "class A:\n  class B:\n    def f(self):\n      import a\n  import b\nimport c\n",
    "class A:\n\tdef f(self):\n\t\timport a\n\n\timport b\n",
    "if x:\n\timport a\n\timport b\n",
    "def f():\n    \\\n  import a\n    import b\n",
    "def f():\n\\\n    import a\n",
    "def f():\n    pass\n\\\n\n\nx\n",
    "def f():\n  \f  import a\n\f  import b\n",
    "@d(\n 'x')\n@e\ndef f():\n  import a\n",
    "def \f f(): pass\nclass\fA: import\fa\nfrom typing import TYPE_CHECKING\fas TC\nif TC:\f import b\n",
    "def é():\n  import ü as ö; import ﬁx\n",
    "def कि(): import कि\n",
    "x = {\n'a': 1, # import b\n}; import a, b.c as d, e . f\n",
    "import a.b.c, d\n",
    "import a, \\\n  b\n",
    "from a import (\n  b as c, # import x\n  d,\n)\n",
    "from a import(b)\n",
    "from.import b\n",
    "from . import b\n",
    "from ... a . b import c\n",
    "from ....a import *\n",
    "from .. import (a, b); from c import d; import e\n",
    "from importlib import importer\n",
    "if x: import a\nelif y: import b\nelse: import c\n",
    "if x[1:2]: import a\n",
    "if (lambda: x): from a import b; import c\n",
    "while x: import a\nelse: import b\n",
    "for x in y: from a import b\nelse: import c\n",
    "with a as b, c(d) as e: import f\n",
    "match x:\n  case {'a': 1}: import a\n  case _:\n    import b\n",
    "match = case = type = 1\nmatch[1:2]; import a\n",
    "x = lambda: 0; import a\n",
    "x: int = 3; import a\n",
    "class A: import a; x = 1\n",
    "def g():\n  yield from a\n  raise x from a\n  import b\n",
    "try: import a\nexcept ImportError: import b\nelse: import c\nfinally: import d\n",
    "try:\n  import a\nfinally:\n  import b\n",
    "try:\n  try:\n    import a\n  finally:\n    import b\nexcept* E:\n  import c\n",
    "try:\n  import a\n\n# c\nexcept E: pass\n",
    "try:\n  def f():\n    import a\n  class B:\n    import b\nexcept E: pass\n",
    "def f():\n  try:\n    import a\n  except E:\n    try:\n      import b\n    except F: pass\n",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import a\nelse:\n  import b\n",
    "import typing as t\nif t.TYPE_CHECKING: import a; import b\nimport c\n",
    "from typing import TYPE_CHECKING as TC\nif TC:\n  import a\nif not TC:\n  import b\nelse:\n  import c\n",
    "if not TYPE_CHECKING:\n  import a\nelif x:\n  import b\nelse:\n  import c\nimport d\n",
    "if x:\n  if not TYPE_CHECKING:\n    import a\nelse:\n  import b\n",
    "if x:\n  import a\nelif TYPE_CHECKING:\n  import b\nelse:\n  import c\n",
    "if x:\n  import a\nelif not TYPE_CHECKING:\n  import b\nelif y:\n  import c\nelse: import d\n",
    "if TYPE_CHECKING and x:\n  import a\nif TYPE_CHECKING or x:\n  import b\n",
    "if x or not TYPE_CHECKING: import a\nelse: import b\n",
    "if (\n  TYPE_CHECKING # c\n  and 'a' == \"b\"\n):\n  import a\n",
    "if(TYPE_CHECKING): import a\n",
    "if not(TYPE_CHECKING): import a\nelse: import b\n",
    "if TYPE_CHECKING:\n  def f():\n    import a\n  class A:\n    import b\n",
    "def f():\n  if TYPE_CHECKING:\n    import a\n    if x:\n      import b\n  else:\n    import c\n",
    "if MY_TYPE_CHECKING:\n  import a\nif f(TYPE_CHECKING):\n  import b\n",
    "if x:\n  pass\nelse:\n  if TYPE_CHECKING:\n    import a\n  else:\n    import b\n",
    "a._x; a.b._x; a()._x; a(b)._x; a[0]._x; a['b']._x; a(b, c)[d]._x\n",
    "self._x; cls._y; super()._z; super(A, self)._z; type(self)._z; self.__class__._z; self.a._z\n",
    "def f():\n  return (a + b)._x\n",
    "x = [1]._x, {}._x, 'a'._x, (a\n  ._x\n  .b\n  ._y)\n",
    "a . _x; a.__x; a.__x__; a._; a._replace(); os._exit()\n",
    "class A:\n  _x = 1\n  def _f(self): self._y\na._x; a._f; a._y; a._z\n",
    "_a, b._c = 1, 2; _d: int = 1; _e += 1; g = _h = 2\nx._a, x._c, x._d, x._e, x._h\n",
    "f(_a=1); x[_b:2]; x: _c = 1; d = lambda: _e == 1\nx._a, x._b, x._c, x._e\n",
    "x._a_b; _a = 1; _a_b_c = 1\n",
    "from a import _b; from .a import _b as c; from . import _d; from ._e import f; import g._h\n",
    "from a import _b\n_b = 1\n",
    "x = f'{a._b}' f\"{self._c} {d['e']._f:{g._h}}\" '{i._j}'\n",
    "x = f'''{\na\n._b}'''\n",
    "x = f'a{[b]._c} {(d)} {_e=}' f'{\"\"._f} {g._e}'\n",
    "xself._a; myself.self._a; iself._b\n",
    "print(*a._b, **c._d)\n@e._f\ndef g(): pass\n",
    "x = not a._b if yield_._c else await_._d\n",
    "x = 1if'a'else'b'\n",
    "x = 0xfor'a'\n",
    "x = r'\\'; ' # '\n# ' \n",
    "x = '\\\n'; y = '''\\'''' # '\n",
    'x = "\\\\"; import a # "\n',
    "x = f'{{}}' f'{a!r:>{b}}' f'{a:{b}.{c}}' f'{a[\"}\"]}' f'{{{a}}}'\n",
    "x = f'{a:%H:%M}' f\"{a:'}\" f'''{a['b']}''' rf'\\{a}' f'\\{a}' f'\\N{EM DASH}{a}'\n",
    "x = f'{a:{\"b\"}>{c}}' f'{ {\"a\": {1}} }' f'{a:\\'}'\n",
    "x = f'{(lambda y: 1)}' f'{a[b:c]}' f'{a if b else c:d}' f'{a!=b}' f'{a=}'\n",
    'x = f"""{a}"b""{c}"""\n',
    "x = (\n  'import a'\n  # import b\n  'c'\n)\nimport d\n",
    "if x:\n    pass\n    # c\n  # d\n# e\n    import a\n",
    "if x: pass\nimport a",
    "def f():\n    if x:\n        pass\n    else: import a",
    "x = '\u2028'; import a # \x0b\nimport b\n",
]


STRINGS = ["'a'", '"#"', "'''a\nb'''", 'r"\\""', "'\\''", "f'{x}'", "f'{x!r:>{y}}'", "b'\\\\'", "\"a\" 'import b'"]
COMMENTS = ["", "", "", "  # import a", "  # '''"]
TESTS = ["x", "TYPE_CHECKING", "not TYPE_CHECKING", "t.TYPE_CHECKING", "x and TYPE_CHECKING", "(\n x\n)", "x['a':]"]
NAMES = ["a", "b", "_c", "é", "a.b", "a._d"]


@st.composite
def _simple(draw: st.DrawFn) -> str:
    """One simple statement."""
    kind = draw(st.integers(0, 6))
    one, two = draw(st.sampled_from(NAMES)), draw(st.sampled_from(["a", "_c", "é as d", "_d as e"]))
    text = draw(st.sampled_from(STRINGS))
    return [
        f"import {one}",
        f"from {one} import ({two}, {two})",
        f"from {'.' * draw(st.integers(1, 3))}{draw(st.sampled_from(['', one]))} import \\\n {two}",
        text,
        f"x = [{text},{draw(st.sampled_from(COMMENTS))}\n  y.{draw(st.sampled_from(['_c', 'a']))}]",
        f"{draw(st.sampled_from(['_c', 'self._d', 'x, _c', 'x.y']))} = {one}",
        "pass",
    ][kind]


@st.composite
def _line(draw: st.DrawFn) -> str:
    return "; ".join(draw(st.lists(_simple(), min_size=1, max_size=3))) + draw(st.sampled_from(["", ";"]))


@st.composite
def _compound(draw: st.DrawFn, depth: int) -> list[str]:
    """The lines of one compound statement; a body may stand on its header's line."""
    test = draw(st.sampled_from(TESTS))
    headers = draw(
        st.sampled_from(
            [
                ["def f(x: 'a' = {}):"],
                ["async def g(\n  x=lambda: 1,\n):"],
                ["@x.a\nclass C(D):"],
                [f"if {test}:"],
                [f"if {test}:", "else:"],
                ["if x:", f"elif {test}:", "else:"],
                ["try:", "except (A, B) as e:", "finally:"],
                ["try:", "finally:"],
                ["try:", "except* A:"],
                ["with x as y:"],
                ["for x in y:", "else:"],
                [f"while {test}:"],
            ]
        )
    )
    lines: list[str] = []
    for header in headers:
        comment = draw(st.sampled_from(COMMENTS))
        if draw(st.booleans()):
            lines.append(f"{header} {draw(_line())}{comment}")
        else:
            lines.append(header + comment)
            step = draw(st.sampled_from(["  ", "    ", "\t"]))
            lines += [step + line.replace("\n", "\n" + step) for line in draw(_block(depth - 1))]
    return lines


@st.composite
def _block(draw: st.DrawFn, depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            lines += draw(_compound(depth))
        else:
            lines.append(draw(_line()) + draw(st.sampled_from(COMMENTS)))
        lines += draw(st.sampled_from([[], [], [""], ["# c"], ["\f"]]))
    return lines


def modules() -> st.SearchStrategy[str]:
    """The text of a module, three blocks deep at most."""
    return _block(3).map(lambda lines: "\n".join(lines) + "\n")
