"""A conversation -> the prompt that a model was trained to continue, by the template that comes with the model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

from jinja2 import Template, TemplateError, TemplateSyntaxError

from runtime.errors import CheckpointError, RequestError
from runtime.formats.gguf import GGUFFile
from runtime.formats.safetensors import read_json
from runtime.models.chat_sandbox import ChatSandbox, budget

_MAX_SOURCE = 1 << 20
"""Characters of the longest template; real ones stay below 30,000."""


class ChatTemplate:
    """A model's template.

    Args:
        source: jinja2, as `transformers` reads it; "" for a model that has none.
        tokens: what the template may call tokens by, such as {"bos_token": "<s>"}.
    """

    def __init__(self, source: str, tokens: Mapping[str, str]) -> None:
        self.source = source
        self.tokens = dict(tokens)

    def render(
        self, messages: Sequence[Mapping[str, object]], add_generation_prompt: bool = True, **variables: object
    ) -> str:
        """The prompt for a conversation. It holds the opening token if the template writes one: encode it without.

        Args:
            messages: each with "role" and "content".
            add_generation_prompt: end with the opening of an answer.
            variables: further names that the template knows, such as `tools`.

        Raises:
            RequestError: the model has no template, or it refuses this conversation.
            CheckpointError: the template is not valid, or not supported.
        """
        if not self.source:
            raise RequestError("This model has no chat template: send it a plain prompt, or use an instruct model.")
        names = {"tools": None, "documents": None, **self.tokens, **variables}
        template = self._template
        try:
            with budget():
                return template.render(messages=messages, add_generation_prompt=add_generation_prompt, **names)
        except RecursionError:
            raise RequestError("The model's chat template recurses without end: use another model.") from None
        except Exception as error:  # whatever a stranger's program may raise
            reason = str(error) or type(error).__name__
            raise RequestError(f"The model's chat template refuses this conversation: {reason}") from None

    @cached_property
    def _template(self) -> Template:
        remedy = "Use a model whose template `transformers` accepts"
        if len(self.source) > _MAX_SOURCE:
            raise CheckpointError(f"The model's chat template is longer than {_MAX_SOURCE} characters. {remedy}.")
        try:
            with budget():
                return _SANDBOX.compiled(self.source)
        except TemplateSyntaxError as error:
            raise CheckpointError(
                f"The model's chat template, line {error.lineno}: {error.message}. {remedy}."
            ) from None
        except (TemplateError, RecursionError, MemoryError) as error:
            raise CheckpointError(f"The model's chat template: {error}. {remedy}.") from None


def load_chat_template(source: GGUFFile | str | os.PathLike[str]) -> ChatTemplate:
    """The template of a GGUF file (open, or by its path) or of a checkpoint folder; an empty one if there is none.

    Raises:
        CheckpointError: its file is damaged.
    """
    if isinstance(source, GGUFFile):
        return chat_template_from_gguf(source.metadata)
    path = Path(source)
    if path.suffix == ".gguf":
        with GGUFFile.open(path) as file:
            return chat_template_from_gguf(file.metadata)
    return chat_template_from_hf(path)


def chat_template_from_gguf(metadata: Mapping[str, object]) -> ChatTemplate:
    """The template in a file's metadata."""
    tokens = metadata.get("tokenizer.ggml.tokens")
    names = {
        role: tokens[number]
        for role, key in (("bos_token", "bos_token_id"), ("eos_token", "eos_token_id"))
        if isinstance(number := metadata.get(f"tokenizer.ggml.{key}"), int)
        and isinstance(tokens, list)
        and 0 <= number < len(tokens)
    }
    return ChatTemplate(_default_of(metadata.get("tokenizer.chat_template")), names)


def chat_template_from_hf(folder: Path) -> ChatTemplate:
    """The template in a checkpoint folder: `chat_template.jinja`, or in `tokenizer_config.json`."""
    settings_file, template_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    settings = read_json(settings_file) if settings_file.exists() else {}
    names = {key: _content(token) for key, token in settings.items() if key.endswith("_token") and _content(token)}
    if not template_file.exists():
        return ChatTemplate(_default_of(settings.get("chat_template")), names)
    try:
        return ChatTemplate(template_file.read_text(encoding="utf-8"), names)
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{template_file}: {error}. Download the checkpoint again.") from None


def _content(token: object) -> str:
    """The text of a token that is written plainly or as a serialised AddedToken; "" for anything else."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def _default_of(templates: object) -> str:
    """A template, or the one named "default" in a list of them."""
    if isinstance(templates, list):
        named = {entry.get("name"): entry.get("template") for entry in templates if isinstance(entry, dict)}
        templates = named.get("default")
    return templates if isinstance(templates, str) else ""


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(layout: str) -> str:
    return datetime.now().strftime(layout)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Unlike jinja2's own, it leaves <, > and & as they are: a prompt is no HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


_SANDBOX = ChatSandbox(
    functions={"raise_exception": _raise_exception, "strftime_now": _strftime_now},
    filters={"tojson": _to_json},
)
