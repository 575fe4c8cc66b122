"""Templates render as `transformers` renders them, and what a hostile one tries comes to a clear end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from runtime.errors import CheckpointError, RequestError
from runtime.models.chat import ChatTemplate, chat_template_from_gguf, load_chat_template

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
CHATML = """\
{% for message in messages %}
    {% if loop.first and message.role != 'system' %}
<|im_start|>system
Be brief.<|im_end|>
    {% endif %}
    {{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""
LLAMA3 = """\
{{- bos_token }}
{%- if not date is defined %}{% set date = 'today' %}{% endif %}
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0]['content']|trim %}{% set messages = messages[1:] %}
{%- else %}{% set system = '' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\n\n' ~ date ~ system ~ '<|eot_id|>' }}
{%- if tools is not none %}Tools:{% for tool in tools %}{{ tool|tojson(indent=2) }}{% break %}{% endfor %}{% endif %}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}"""
GEMMA = """\
{{ bos_token }}{% set ns = namespace(turns=0) %}
{%- for message in messages %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}
{%- set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{%- set ns.turns = ns.turns + 1 %}
{{- '<start_of_turn>' + role + '\n' + message['content'].split('</think>')[-1] | trim + '<end_of_turn>\n' }}
{%- generation %}{{ '%s<%d>' % (role, ns.turns) }}{% endgeneration %}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif -%}"""
USER = {"role": "user", "content": ' 1 < 2 & "3"\nist größer '}
ANSWER = {"role": "assistant", "content": "<think>x</think>yes"}
SYSTEM = {"role": "system", "content": "Be kind."}
TOOLS = [{"name": "f", "parameters": {"x": "<ü>"}}]


@pytest.mark.parametrize("source", [CHATML, LLAMA3, GEMMA])
@pytest.mark.parametrize("messages", [[USER], [USER, ANSWER, USER], [SYSTEM, USER]])
@pytest.mark.parametrize("open_answer", [True, False])
@pytest.mark.parametrize("tools", [None, TOOLS])
def test_a_conversation_renders_as_in_transformers(
    source: str, messages: list[dict[str, str]], open_answer: bool, tools: list[object] | None
) -> None:
    mine = ChatTemplate(source, TOKENS)
    if source is GEMMA and messages[0] is SYSTEM:
        with pytest.raises(RequestError, match="refuses this conversation: Roles must alternate"):
            mine.render(messages)
        return
    rendered, _ = render_jinja_template(
        conversations=[messages], tools=tools, chat_template=source, add_generation_prompt=open_answer, **TOKENS
    )
    given = {} if tools is None else {"tools": tools}
    assert mine.render(messages, open_answer, **given) == rendered[0]


def test_the_date_can_be_asked_for() -> None:
    assert len(ChatTemplate("{{ strftime_now('%Y-%m-%d') }}", {}).render([])) == 10


def test_a_model_without_a_template_says_so(tmp_path: Path) -> None:
    for template in (chat_template_from_gguf({}), load_chat_template(tmp_path)):
        with pytest.raises(RequestError, match="no chat template"):
            template.render([USER])


def test_a_template_comes_from_gguf_metadata_with_its_tokens() -> None:
    found = chat_template_from_gguf(
        {
            "tokenizer.chat_template": "{{ bos_token }}|{{ eos_token }}",
            "tokenizer.ggml.tokens": ["<unk>", "<s>"],
            "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 7,
        }
    )
    assert found.render([]) == "<s>|"


def test_a_template_comes_from_a_folder(tmp_path: Path) -> None:
    settings = {"bos_token": {"content": "<s>"}, "chat_template": [{"name": "default", "template": "{{ bos_token }}!"}]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert load_chat_template(tmp_path).render([]) == "<s>!"
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}?")
    assert load_chat_template(tmp_path).render([]) == "<s>?"


GROWING = "{%% set ns = namespace(s='ab') %%}{%% for i in range(60) %%}%s{%% endfor %%}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__.json }}",
        "{{ range(10**9) }}",
        "{% for a in range(9**5) %}{% for b in range(9**5) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for i in range(9**5) %}" + "x" * 100_000 + "{% endfor %}",
        GROWING % "{% set ns.s = ns.s ~ ns.s %}",
        GROWING % "{% set ns.s = ns.s + ns.s %}",
        GROWING % "{% set ns.s = ns.s * 2 %}",
        GROWING % "{% set ns.s = [ns.s, ns.s]|join %}",
        GROWING % "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}",
        "{% set ns = namespace(x=3) %}{% for i in range(60) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ 2 ** 9999 }}",
        "{{ 'a' * 10**12 }}",
        "{{ 'a'|center(10**9) }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ (5).to_bytes(10**9) }}",
        "{{ '%9999999d' % 1 }}",
        "{{ '%*d' % (10**9, 1) }}",
        "{{ '%9999999d'|format(1) }}",
        "{{ '{:>9999999}'.format(1) }}",
        "{{ lipsum(1000) }}",
        "{% include 'x' %}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_hostile_template_comes_to_a_clear_end(source: str) -> None:
    with pytest.raises(RequestError, match=r"chat template (refuses this conversation: .|recurses)"):
        ChatTemplate(source, {}).render([USER])


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("\n{% if %}", "line 2: "),
        ("{{ x|nosuchfilter }}", "line 1: "),
        ("{% for i in messages recursive %}{% endfor %}", "recursive loops are not supported"),
        ("{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "recursion"),
        ("x" * (1 << 20) + "x", "longer than"),
    ],
)
def test_a_template_that_is_not_valid_is_refused(source: str, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        ChatTemplate(source, {}).render([USER])


def test_a_long_conversation_stays_far_below_the_budget() -> None:
    messages = [USER, {"role": "assistant", "content": "yes " * 5000}] * 500
    assert len(ChatTemplate(GEMMA, TOKENS).render(messages)) > 10_000_000


def test_each_rendering_has_its_own_budget() -> None:
    template = ChatTemplate("{% for i in range(5000) %}{% for j in range(200) %}{% endfor %}{% endfor %}", {})
    for _ in range(4):
        assert template.render([]) == ""
