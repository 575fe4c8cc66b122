"""A small tree of vLLM's shape, written for these tests, that keeps every rule of docs/recipes/vllm.toml."""

from __future__ import annotations

ENVS = """\
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    VLLM_PORT: int = 8000
    VLLM_LOG_LEVEL: str = "INFO"
    VLLM_CACHE_ROOT: str = ""


def cache_root() -> str:
    return os.getenv("XDG_CACHE_HOME", "/tmp")


environment_variables: dict[str, Callable[[], Any]] = {
    # The port of the server.
    "VLLM_PORT": lambda: int(os.getenv("VLLM_PORT", "8000")),
    "VLLM_LOG_LEVEL": lambda: os.getenv("VLLM_LOG_LEVEL", "INFO").upper(),
    "VLLM_CACHE_ROOT": lambda: os.path.expanduser(os.getenv("VLLM_CACHE_ROOT", cache_root())),
}


def __getattr__(name: str) -> Any:
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)
"""

CACHE_CONFIG = '''\
from typing import Any, Literal

from pydantic import Field

from vllm.config.utils import config, hash_of

CacheDType = Literal["auto", "fp8"]


@config
class CacheConfig:
    """The memory of keys and values."""

    block_size: int = Field(default=16, gt=0)
    cache_dtype: CacheDType = "auto"

    def compute_hash(self) -> str:
        factors: list[Any] = [self.block_size, self.cache_dtype]
        return hash_of(factors)
'''

FILES = {
    "README.md": "# Engine\n\nSee [the settings](docs/settings.md#ports).\n",
    "docs/settings.md": "# Settings\n\n## Ports\n\nBack to [the start](../README.md).\n",
    "vllm/__init__.py": "",
    "vllm/envs.py": ENVS,
    "vllm/env_override.py": "import os\n\nos.environ.setdefault('TORCHINDUCTOR_COMPILE_THREADS', '1')\n",
    "vllm/config/__init__.py": (
        "from vllm.config.cache import CacheConfig\n"
        "from vllm.config.model import ModelConfig\n"
        "from vllm.config.vllm import VllmConfig\n\n"
        '__all__ = ["CacheConfig", "ModelConfig", "VllmConfig"]\n'
    ),
    "vllm/config/utils.py": (
        "import hashlib\nfrom typing import Any, TypeVar\n\n"
        "from pydantic.dataclasses import dataclass\nfrom typing_extensions import dataclass_transform\n\n"
        'T = TypeVar("T")\n\n\n'
        "@dataclass_transform()\ndef config(cls: type[T] | None = None, **options: Any) -> Any:\n"
        "    return dataclass(cls, **options)\n\n\n"
        "def hash_of(factors: list[Any]) -> str:\n    return hashlib.sha256(str(factors).encode()).hexdigest()\n"
    ),
    "vllm/config/cache.py": CACHE_CONFIG,
    "vllm/config/model.py": (
        "from dataclasses import InitVar\nfrom typing import Any, ClassVar\n\n"
        "from pydantic import ConfigDict, SkipValidation\n\n"
        "from vllm.config.utils import config, hash_of\n\n\n"
        "@config(config=ConfigDict(arbitrary_types_allowed=True))\n"
        "class ModelConfig:\n"
        "    model: str\n"
        "    hf_config: SkipValidation[Any] = None\n"
        "    limit: ClassVar[int] = 4\n"
        "    quiet: InitVar[bool] = False\n\n"
        "    def compute_hash(self) -> str:\n"
        "        return hash_of([self.model, self.hf_config])\n"
    ),
    "vllm/config/vllm.py": (
        "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING, Any\n\nfrom pydantic import Field\n\n"
        "from vllm.config.cache import CacheConfig\nfrom vllm.config.utils import config, hash_of\n\n"
        "if TYPE_CHECKING:\n    from vllm.config import ModelConfig\nelse:\n    ModelConfig = Any\n\n\n"
        "@config\nclass VllmConfig:\n"
        "    model_config: ModelConfig = Field(default=None)\n"
        "    cache_config: CacheConfig = Field(default_factory=CacheConfig)\n"
        "    port: int | None = None\n\n"
        "    def compute_hash(self) -> str:\n"
        "        return hash_of([self.model_config.compute_hash(), self.cache_config.compute_hash(), self.port])\n"
    ),
    "vllm/platforms/__init__.py": "class Platform:\n    def is_cuda(self) -> bool:\n        return True\n",
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/server.py": (
        "from vllm import envs\nfrom vllm.config import VllmConfig\nfrom vllm.v1.worker import Worker\n\n\n"
        "def serve(vllm_config: VllmConfig) -> tuple[int, str, str]:\n"
        "    Worker(vllm_config).run()\n"
        "    return vllm_config.port or envs.VLLM_PORT, envs.VLLM_LOG_LEVEL, envs.VLLM_CACHE_ROOT\n"
    ),
    "vllm/model_executor/__init__.py": "",
    "vllm/model_executor/models/__init__.py": "",
    "vllm/model_executor/models/llama.py": "class LlamaForCausalLM:\n    pass\n",
    "vllm/v1/__init__.py": "",
    "vllm/v1/worker.py": (
        "from vllm._custom_ops import copy_blocks\nfrom vllm.config import VllmConfig\n\n\n"
        "class Worker:\n"
        "    def __init__(self, vllm_config: VllmConfig) -> None:\n"
        "        self.cache_config = vllm_config.cache_config\n"
        "        self.model_config = vllm_config.model_config\n\n"
        "    def run(self) -> tuple[object, ...]:\n"
        "        copy_blocks(self.cache_config.block_size)\n"
        "        return self.model_config.model, self.model_config.hf_config, self.cache_config.cache_dtype\n"
    ),
    "vllm/v1/attention.py": (
        "import torch\n\nfrom vllm.utils.torch_utils import direct_register_custom_op\n\n\n"
        "def unified_attention(query: torch.Tensor) -> torch.Tensor:\n    return query\n\n\n"
        "def unified_attention_fake(query: torch.Tensor) -> torch.Tensor:\n    return torch.empty_like(query)\n\n\n"
        "direct_register_custom_op(\n"
        '    op_name="unified_attention",\n    op_func=unified_attention,\n'
        "    fake_impl=unified_attention_fake,\n)\n\n\n"
        "def forward(query: torch.Tensor) -> torch.Tensor:\n    return torch.ops.vllm.unified_attention(query)\n"
    ),
    "vllm/utils/__init__.py": "",
    "vllm/utils/torch_utils.py": (
        "from torch.library import Library\n\nvllm_lib = Library('vllm', 'FRAGMENT')\n\n\n"
        "def direct_register_custom_op(op_name, op_func, mutates_args=None, fake_impl=None, target_lib=None):\n"
        "    library = target_lib or vllm_lib\n    library.impl(op_name, op_func)\n"
    ),
    "vllm/_custom_ops.py": (
        "import torch\n\ntry:\n    from torch.library import register_fake\n"
        "except ImportError:\n    from torch.library import impl_abstract as register_fake\n\n"
        'if hasattr(torch.ops._C_cache_ops, "copy_blocks"):\n\n'
        '    @register_fake("_C_cache_ops::copy_blocks")\n'
        "    def _copy_blocks_fake(block_size: int) -> None:\n        return None\n\n\n"
        "def copy_blocks(block_size: int) -> None:\n    torch.ops._C_cache_ops.copy_blocks(block_size)\n"
    ),
    "csrc/torch_bindings.cpp": (
        '#include "cache.h"\n\n'
        "TORCH_LIBRARY_EXPAND(CONCAT(TORCH_EXTENSION_NAME, _cache_ops), cache_ops) {\n"
        '  cache_ops.def("copy_blocks(int block_size) -> ()");\n'
        '  cache_ops.impl("copy_blocks", torch::kCUDA, &copy_blocks);\n}\n'
    ),
    "csrc/moe/torch_bindings.cpp": (
        "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m) {\n"
        '  m.def("topk_softmax(Tensor! weights) -> ()");\n'
        '  m.impl("topk_softmax", torch::kCUDA, &topk_softmax);\n}\n'
    ),
}
