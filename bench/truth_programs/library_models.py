"""Models as timm, torchvision and transformers publish them, with random weights.

The engine is judged by models that nobody here wrote. A library that is not installed is left out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from bench.truth_programs.program import Case, Program

_TIMM = {
    64: """
    caformer_s18 cait_xxs24_224 convformer_s18 convit_tiny convnext_atto_ols cs3darknet_focus_s
    darknet53 deit_tiny_distilled_patch16_224 densenetblur121d dla46_c dm_nfnet_f0 eca_nfnet_l0
    efficientformerv2_s0 efficientnetv2_rw_t ese_vovnet19b_dw eva02_tiny_patch14_224
    fasternet_t0 fbnetc_100 gernet_s ghostnet_100 gcresnext26ts hardcorenas_a hgnetv2_b0
    inception_next_atto lcnet_050 legacy_seresnet18 levit_conv_128s lambda_resnet50ts
    mixer_s32_224 mixnet_s mobilenetv3_rw mobilenetv4_conv_small mobilenetv4_hybrid_medium
    mobileone_s0 mobilevitv2_050 nextvit_small pit_ti_224 rdnet_tiny regnetx_002 regnetz_b16
    repghostnet_050 repvgg_a0 resmlp_12_224 resnetblur50 resnetv2_50 resnext26ts rexnet_100
    sebotnet33ts_256 seresnext26t_32x4d shvit_s1 spnasnet_100 starnet_s1 swiftformer_xs
    tf_efficientnet_lite0 tinynet_e tresnet_m tnt_s_legacy_patch16_224 visformer_tiny
    vit_tiny_patch16_224 vit_relpos_small_patch16_224 vit_small_patch14_reg4_dinov2
    vitamin_small_224 vovnet39a wide_resnet50_2 xception41 cspresnet50 convmixer_1024_20_ks9_p14
    selecsls42b
    """,
    96: "inception_resnet_v2 pnasnet5large coat_tiny coat_lite_tiny nest_tiny jx_nest_tiny",
    128: """
    maxvit_tiny_pm_256 swinv2_tiny_window8_256 maxxvitv2_nano_rw_256 coatnet_rmlp_nano_rw_224
    mobilevit_s samvit_base_patch16_224 swin_s3_tiny_224
    """,
}
_TORCHVISION = {
    64: """
    alexnet vgg11_bn mobilenet_v2 mobilenet_v3_small efficientnet_b0 efficientnet_v2_s
    regnet_y_400mf resnext50_32x4d swin_t swin_v2_t convnext_tiny shufflenet_v2_x1_0
    """,
    224: "vit_b_16 maxvit_t",
}
_SEGMENTATION = "deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large fcn_resnet50"
_VIDEO = "r3d_18 mc3_18 r2plus1d_18 s3d mvit_v1_b swin3d_t"
_TRANSFORMERS = """
    BertForPreTraining BertGenerationDecoder BioGptForCausalLM BlenderbotSmallForCausalLM
    CamembertModel CanineModel ConvBertModel CTRLModel Data2VecTextModel DebertaModel ErnieModel
    EsmModel FlaubertModel FunnelModel Gemma3ForCausalLM GitModel GlmForCausalLM
    GPTBigCodeForCausalLM GPTNeoXJapaneseForCausalLM HeliumForCausalLM IBertModel LayoutLMModel
    LEDForConditionalGeneration LongformerModel LukeModel M2M100Model MarianMTModel
    MegatronBertModel MobileBertModel MptForCausalLM MraModel MvpModel NemotronForCausalLM
    NystromformerModel OlmoForCausalLM PegasusModel PersimmonForCausalLM PLBartModel
    ProphetNetModel RemBertModel RoFormerModel Starcoder2ForCausalLM SplinterModel
    TrOCRForCausalLM XGLMForCausalLM XLMModel XLMRobertaModel YosoModel JambaForCausalLM
    BigBirdModel UMT5Model SwitchTransformersModel GraniteMoeForCausalLM OlmoeForCausalLM
    Exaone4ForCausalLM SmolLM3ForCausalLM Ernie4_5ForCausalLM HunYuanDenseV1ForCausalLM
    Lfm2ForCausalLM BitNetForCausalLM ArceeForCausalLM ApertusForCausalLM
"""
_SMALL: dict[str, Any] = {
    "vocab_size": 101, "hidden_size": 32, "d_model": 32, "n_embd": 32, "emb_dim": 32, "dim": 32,
    "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "encoder_layers": 1,
    "decoder_layers": 1, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4,
    "num_key_value_heads": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4,
    "intermediate_size": 48, "ffn_dim": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
    "d_ff": 48, "dff": 48, "d_kv": 8, "head_dim": 8, "embedding_size": 32,
    "max_position_embeddings": 64,
    "n_positions": 64, "block_sizes": [1, 1], "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1, "attention_window": 4,
    "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2,
    "intermediate_size_mlp": 48, "use_cache": False,
}  # fmt: skip

_Make = Callable[[], tuple[Any, tuple[int, ...] | None]]
"""Makes a model and the shape of its input; None for token ids."""


def programs() -> list[Program]:
    """Each model used and trained."""
    makers: dict[str, _Make] = {}
    if _installed("timm"):
        for size, names in _TIMM.items():
            for name in names.split():
                makers[f"timm-{name}"] = partial(_timm, name, size)
    if _installed("torchvision"):
        for size, names in _TORCHVISION.items():
            for name in names.split():
                makers[f"torchvision-{name}"] = partial(_vision, name, size)
        for name in _SEGMENTATION.split():
            makers[f"torchvision-{name}"] = partial(_segmentation, name)
        for name in _VIDEO.split():
            makers[f"torchvision-{name}"] = partial(_video, name)
    if _installed("transformers"):
        for name in _TRANSFORMERS.split():
            makers[f"transformers-{name}"] = partial(_transformer, name)
    return [
        Program(f"library-{name}-{'train' if train else 'infer'}", _cases(make, train))
        for name, make in makers.items()
        for train in (False, True)
    ]


def _installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def _cases(make: _Make, train: bool) -> Callable[[str], list[Case]]:
    def cases(device: str) -> list[Case]:
        model, shape = make()
        model = model.to(device).train(train)
        if shape is not None:
            return [Case(model, (torch.randn(shape, device=device),), train=train)]
        ids = torch.randint(3, 90, (2, 16), device=device)
        given = {"input_ids": ids}
        if model.config.is_encoder_decoder:
            given["decoder_input_ids"] = ids[:, :9]
        return [Case(model, (), given, train=train)]

    return cases


def _timm(name: str, size: int) -> tuple[Any, tuple[int, ...]]:
    import timm

    try:
        model = timm.create_model(name, img_size=size)
    except TypeError:
        model = timm.create_model(name)
    return model, (2, 3, size, size)


def _vision(name: str, size: int) -> tuple[Any, tuple[int, ...]]:
    import torchvision

    return getattr(torchvision.models, name)(weights=None), (2, 3, size, size)


def _segmentation(name: str) -> tuple[Any, tuple[int, ...]]:
    import torchvision

    make = getattr(torchvision.models.segmentation, name)
    return make(weights=None, weights_backbone=None), (2, 3, 64, 64)


def _video(name: str) -> tuple[Any, tuple[int, ...]]:
    import torchvision

    size = (2, 3, 16, 224, 224) if name == "mvit_v1_b" else (2, 3, 16, 64, 64)
    return getattr(torchvision.models.video, name)(weights=None), size


def _transformer(name: str) -> tuple[Any, None]:
    import transformers

    kind = getattr(transformers, name)
    config = kind.config_class()
    known = config.to_dict() | dict.fromkeys(config.attribute_map)
    options = {key: value for key, value in _SMALL.items() if key in known}
    return kind(kind.config_class(**options)), None
