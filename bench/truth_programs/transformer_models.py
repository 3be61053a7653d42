"""Models of the transformers library, made from configurations at tiny sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from bench.truth_programs.program import Case, Program

_SMALL = {
    "vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 48, "max_position_embeddings": 64,
}  # fmt: skip
_LLAMA = _SMALL | {"num_key_value_heads": 2, "pad_token_id": 0}
_IMAGES = {"image_size": 16, "patch_size": 4, "num_channels": 3}


@dataclass(frozen=True)
class _Made:
    config: str
    model: str
    inputs: str
    options: dict[str, Any] = field(default_factory=dict)
    dtype: torch.dtype | None = None
    dynamic: bool | None = None
    autocast: bool = False


_MODELS = {
    "bert": _Made("BertConfig", "BertForMaskedLM", "ids", _SMALL),
    "roberta": _Made("RobertaConfig", "RobertaForSequenceClassification", "ids", _SMALL),
    "albert": _Made("AlbertConfig", "AlbertModel", "ids", _SMALL | {"embedding_size": 16}),
    "electra": _Made("ElectraConfig", "ElectraModel", "ids", _SMALL | {"embedding_size": 16}),
    "distilbert": _Made(
        "DistilBertConfig",
        "DistilBertForQuestionAnswering",
        "ids",
        {"vocab_size": 97, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    ),
    "mpnet": _Made("MPNetConfig", "MPNetModel", "ids", _SMALL),
    "deberta": _Made(
        "DebertaV2Config", "DebertaV2Model", "ids",
        _SMALL | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "fnet": _Made("FNetConfig", "FNetModel", "ids", _SMALL),
    "squeezebert": _Made("SqueezeBertConfig", "SqueezeBertModel", "ids",
                         _SMALL | {"embedding_size": 32}),
    "gpt2": _Made("GPT2Config", "GPT2LMHeadModel", "ids",
                  {"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "gpt2-autocast": _Made("GPT2Config", "GPT2LMHeadModel", "ids",
                  {"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
                  autocast=True),
    "gpt-neo": _Made(
        "GPTNeoConfig", "GPTNeoForCausalLM", "ids",
        {"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
         "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64,
         "window_size": 8},
    ),
    "gpt-neox": _Made("GPTNeoXConfig", "GPTNeoXForCausalLM", "ids", _SMALL),
    "gptj": _Made("GPTJConfig", "GPTJForCausalLM", "ids",
                  {"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
                   "rotary_dim": 4}),
    "opt": _Made("OPTConfig", "OPTForCausalLM", "ids",
                 _SMALL | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "bloom": _Made("BloomConfig", "BloomForCausalLM", "ids",
                   {"vocab_size": 97, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "falcon": _Made("FalconConfig", "FalconForCausalLM", "ids", _SMALL | {"alibi": True}),
    "llama": _Made("LlamaConfig", "LlamaForCausalLM", "ids", _LLAMA),
    "llama-bf16": _Made("LlamaConfig", "LlamaForCausalLM", "ids", _LLAMA, dtype=torch.bfloat16),
    "llama-f16": _Made("LlamaConfig", "LlamaForCausalLM", "ids", _LLAMA, dtype=torch.float16),
    "llama-dynamic": _Made("LlamaConfig", "LlamaForCausalLM", "ids", _LLAMA, dynamic=True),
    "mistral": _Made("MistralConfig", "MistralForCausalLM", "ids", _LLAMA | {"sliding_window": 8}),
    "mixtral": _Made("MixtralConfig", "MixtralForCausalLM", "ids",
                     _LLAMA | {"num_local_experts": 3}),
    "qwen2": _Made("Qwen2Config", "Qwen2ForCausalLM", "ids", _LLAMA),
    "qwen3": _Made("Qwen3Config", "Qwen3ForCausalLM", "ids", _LLAMA | {"head_dim": 8}),
    "gemma": _Made("GemmaConfig", "GemmaForCausalLM", "ids", _LLAMA | {"head_dim": 8}),
    "gemma2": _Made("Gemma2Config", "Gemma2ForCausalLM", "ids", _LLAMA | {"head_dim": 8}),
    "phi": _Made("PhiConfig", "PhiForCausalLM", "ids", _LLAMA),
    "phi3": _Made("Phi3Config", "Phi3ForCausalLM", "ids", _LLAMA),
    "olmo2": _Made("Olmo2Config", "Olmo2ForCausalLM", "ids", _LLAMA),
    "stablelm": _Made("StableLmConfig", "StableLmForCausalLM", "ids", _LLAMA),
    "granite": _Made("GraniteConfig", "GraniteForCausalLM", "ids", _LLAMA),
    "cohere": _Made("CohereConfig", "CohereForCausalLM", "ids", _LLAMA),
    "modernbert": _Made("ModernBertConfig", "ModernBertModel", "ids", _SMALL | {"pad_token_id": 0}),
    "mamba": _Made("MambaConfig", "MambaForCausalLM", "ids",
                   {"vocab_size": 97, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}),
    "rwkv": _Made("RwkvConfig", "RwkvModel", "ids",
                  {"vocab_size": 97, "hidden_size": 16, "num_hidden_layers": 1,
                   "attention_hidden_size": 16, "context_length": 32}),
    "xlnet": _Made("XLNetConfig", "XLNetModel", "ids",
                   {"vocab_size": 97, "d_model": 32, "n_layer": 1, "n_head": 4, "d_inner": 48}),
    "t5": _Made("T5Config", "T5ForConditionalGeneration", "pairs",
                {"vocab_size": 97, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 1,
                 "num_heads": 4, "decoder_start_token_id": 0}),
    "bart": _Made("BartConfig", "BartForConditionalGeneration", "pairs",
                  {"vocab_size": 97, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
                   "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                   "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64}),
    "vit": _Made("ViTConfig", "ViTForImageClassification", "pixels", _SMALL | _IMAGES),
    "deit": _Made("DeiTConfig", "DeiTModel", "pixels", _SMALL | _IMAGES),
    "dinov2": _Made("Dinov2Config", "Dinov2Model", "pixels",
                    _IMAGES | {"hidden_size": 32, "num_hidden_layers": 2,
                               "num_attention_heads": 4}),
    "beit": _Made("BeitConfig", "BeitModel", "pixels",
                  _SMALL | _IMAGES | {"use_relative_position_bias": True}),
    "swin": _Made("SwinConfig", "SwinModel", "pixels",
                  {"image_size": 16, "patch_size": 2, "embed_dim": 12, "depths": [2, 1],
                   "num_heads": [2, 4], "window_size": 4}),
    "convnextv2": _Made("ConvNextV2Config", "ConvNextV2Model", "pixels",
                        {"hidden_sizes": [8, 12], "depths": [1, 1], "num_stages": 2}),
    "resnet": _Made("ResNetConfig", "ResNetModel", "pixels",
                    {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}),
    "mobilenet-v2": _Made("MobileNetV2Config", "MobileNetV2Model", "pixels",
                          {"depth_multiplier": 0.25}),
    "segformer": _Made("SegformerConfig", "SegformerModel", "pixels",
                       {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1],
                        "hidden_sizes": [8, 16], "patch_sizes": [3, 3], "strides": [2, 2],
                        "num_attention_heads": [1, 2], "mlp_ratios": [2, 2]}),
    "poolformer": _Made("PoolFormerConfig", "PoolFormerModel", "pixels",
                        {"hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2,
                         "patch_sizes": [3, 3], "strides": [2, 2], "padding": [1, 1]}),
    "clip-vision": _Made("CLIPVisionConfig", "CLIPVisionModel", "pixels", _SMALL | _IMAGES),
    "clip-text": _Made("CLIPTextConfig", "CLIPTextModel", "ids", _SMALL | {"eos_token_id": 96}),
    "siglip-vision": _Made("SiglipVisionConfig", "SiglipVisionModel", "pixels", _SMALL | _IMAGES),
    "whisper": _Made("WhisperConfig", "WhisperForConditionalGeneration", "audio",
                     {"vocab_size": 97, "num_mel_bins": 8, "d_model": 32, "encoder_layers": 1,
                      "decoder_layers": 1, "encoder_attention_heads": 4,
                      "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
                      "max_source_positions": 20, "max_target_positions": 20, "pad_token_id": 0,
                      "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}),
    "wav2vec2": _Made("Wav2Vec2Config", "Wav2Vec2Model", "wave",
                      _SMALL | {"conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3],
                                "num_conv_pos_embeddings": 8,
                                "num_conv_pos_embedding_groups": 4, "mask_time_prob": 0.0}),
}  # fmt: skip


def programs() -> list[Program]:
    found = []
    for name, made in _MODELS.items():
        for train in (False, True):

            def cases(device: str, made: _Made = made, train: bool = train) -> list[Case]:
                return [_case(made, device, train)]

            found.append(Program(f"transformers-{name}-{'train' if train else 'infer'}", cases))
    return found


def _case(made: _Made, device: str, train: bool) -> Case:
    import transformers

    options = dict(made.options)
    config = getattr(transformers, made.config)(**options)
    config.use_cache = False
    model = getattr(transformers, made.model)(config).to(device, made.dtype).train(train)
    inputs = _inputs(made.inputs, device, made.dtype)

    def forward(**inputs: torch.Tensor) -> Any:  # noqa: ANN401  # tuples of the library's making
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=made.autocast):
            return model(**inputs)

    return Case(forward, (), inputs, train, made.dynamic)


def _inputs(kind: str, device: str, dtype: torch.dtype | None) -> dict[str, torch.Tensor]:
    ids = torch.randint(3, 90, (2, 14), device=device)
    if kind == "ids":
        return {"input_ids": ids}
    if kind == "pairs":
        return {"input_ids": ids, "decoder_input_ids": ids[:, :9]}
    if kind == "pixels":
        return {"pixel_values": torch.randn(2, 3, 16, 16, device=device, dtype=dtype)}
    if kind == "wave":
        return {"input_values": torch.randn(2, 400, device=device, dtype=dtype)}
    return {
        "input_features": torch.randn(2, 8, 40, device=device, dtype=dtype),
        "decoder_input_ids": ids[:, :9],
    }
