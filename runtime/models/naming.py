"""What the tensors of a decoder are called in Hugging Face checkpoints and in GGUF files.

A *role* is this repository's name for one tensor of a checkpoint. Roles starting with `layer.` exist once a layer, and
`{layer}` in their names is its index. Sources: the parameter names of `transformers`' decoder models, and
`MODEL_TENSORS` in llama.cpp's `gguf-py/gguf/constants.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

HF_NAMES: Mapping[str, str] = {
    "embedding": "model.embed_tokens",
    "final_norm": "model.norm",
    "head": "lm_head",
    "layer.attention_norm": "model.layers.{layer}.input_layernorm",
    "layer.q": "model.layers.{layer}.self_attn.q_proj",
    "layer.k": "model.layers.{layer}.self_attn.k_proj",
    "layer.v": "model.layers.{layer}.self_attn.v_proj",
    "layer.q_norm": "model.layers.{layer}.self_attn.q_norm",
    "layer.k_norm": "model.layers.{layer}.self_attn.k_norm",
    "layer.output": "model.layers.{layer}.self_attn.o_proj",
    "layer.mlp_norm": "model.layers.{layer}.post_attention_layernorm",
    "layer.gate": "model.layers.{layer}.mlp.gate_proj",
    "layer.up": "model.layers.{layer}.mlp.up_proj",
    "layer.down": "model.layers.{layer}.mlp.down_proj",
}
GGUF_NAMES: Mapping[str, str] = {
    "embedding": "token_embd",
    "final_norm": "output_norm",
    "head": "output",
    "layer.attention_norm": "blk.{layer}.attn_norm",
    "layer.q": "blk.{layer}.attn_q",
    "layer.k": "blk.{layer}.attn_k",
    "layer.v": "blk.{layer}.attn_v",
    "layer.q_norm": "blk.{layer}.attn_q_norm",
    "layer.k_norm": "blk.{layer}.attn_k_norm",
    "layer.output": "blk.{layer}.attn_output",
    "layer.attention_post_norm": "blk.{layer}.post_attention_norm",
    "layer.mlp_norm": "blk.{layer}.ffn_norm",
    "layer.mlp_post_norm": "blk.{layer}.post_ffw_norm",
    "layer.gate": "blk.{layer}.ffn_gate",
    "layer.up": "blk.{layer}.ffn_up",
    "layer.down": "blk.{layer}.ffn_down",
}
