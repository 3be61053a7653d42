"""Which models `unseen_models.py` makes, of what sizes, and the shapes of their inputs."""

from __future__ import annotations

from typing import Any

TIMM: dict[str, tuple[int, dict[str, Any]]] = {
    "xcit_nano_12_p16_224": (64, {"img_size": 64, "depth": 2}),
    "edgenext_xx_small": (64, {}),
    "crossvit_tiny_240": (240, {"depth": [[1, 1, 0]] * 3}),
    "gcvit_xxtiny": (224, {}),
    "volo_d1_224": (64, {"img_size": 64}),
    "repvit_m0_9": (64, {}),
    "twins_svt_small": (64, {"img_size": 64, "depths": [1, 1, 2, 1]}),
    "davit_tiny": (64, {}),
    "hiera_tiny_224": (64, {"img_size": 64, "stages": [1, 1, 2, 1]}),
    "resnest14d": (64, {}),
    "efficientvim_m1": (64, {}),
    "res2net50_26w_4s": (64, {}),
    "hrnet_w18_small": (64, {}),
    "tiny_vit_5m_224": (64, {}),
    "mambaout_femto": (64, {}),
    "skresnet18": (64, {}),
    "fastvit_t8": (64, {}),
    "sequencer2d_s": (64, {"img_size": 64, "layers": [1, 1, 2, 1]}),
    "mvitv2_tiny": (64, {"img_size": 64}),
    "ghostnetv2_100": (64, {}),
    "bat_resnext26ts": (256, {}),
    "dpn68": (64, {}),
    "iformer_t": (64, {}),
    "cspnext_tiny": (64, {}),
    "lcnetv2_small": (64, {}),
    "csatv2": (64, {}),
    "lowformer_b0": (64, {}),
    "sam2_hiera_tiny": (64, {"embed_dim": 16, "num_heads": 1}),
    "naflexvit_base_patch16_gap": (64, {"depth": 2, "embed_dim": 96, "num_heads": 4}),
    "dla34": (64, {}),
    "haloregnetz_b": (224, {}),
}
_TEXT = {"vocab_size": 101, "hidden_size": 32, "pad_token_id": 0, "use_cache": False}
_HEADS = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
_GROUPED = _TEXT | _HEADS | {"num_key_value_heads": 2, "head_dim": 8}
_PAIR = {
    "vocab_size": 101, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
    "max_position_embeddings": 64, "use_cache": False,
}  # fmt: skip
TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "DeepseekV3ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 4, "moe_intermediate_size": 24, "n_routed_experts": 4,
        "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1,
        "kv_lora_rank": 8, "q_lora_rank": 12, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
        "v_head_dim": 8,
    }),
    "RecurrentGemmaForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_hidden_layers": 3, "attention_window_size": 8, "lru_width": 32,
    }),
    "Mamba2ForCausalLM": ("ids", _TEXT | {
        "num_heads": 8, "head_dim": 8, "num_hidden_layers": 1, "state_size": 4, "n_groups": 2,
        "chunk_size": 8,
    }),
    "ReformerModel": ("ids", _TEXT | {
        "num_attention_heads": 2, "attention_head_size": 16, "feed_forward_size": 48,
        "axial_pos_shape": [4, 4], "axial_pos_embds_dim": [12, 20], "attn_layers": ["local", "lsh"],
        "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_buckets": 4, "hash_seed": 0,
        "is_decoder": False,
    }),
    "TimesformerModel": ("film", _HEADS | {
        "hidden_size": 32, "image_size": 16, "patch_size": 4, "num_frames": 3,
    }),
    "PatchTSTModel": ("series", _HEADS | {
        "d_model": 32, "ffn_dim": 48, "num_input_channels": 3, "patch_length": 4,
        "patch_stride": 2,
    }),
    "CvtModel": ("picture", {
        "embed_dim": [12, 24, 24], "num_heads": [1, 2, 2], "depth": [1, 2, 3],
    }),
    "DiffLlamaForCausalLM": ("ids", _TEXT | _HEADS | {"num_key_value_heads": 2}),
    "GptOssForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 8, "num_local_experts": 4,
        "num_experts_per_tok": 2,
    }),
    "MiniMaxForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "block_size": 8, "num_local_experts": 4,
        "layer_types": ["linear_attention", "full_attention"],
    }),
    "WavLMModel": ("wave", _HEADS | {
        "hidden_size": 32, "conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3],
        "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "num_buckets": 16,
        "max_bucket_distance": 40, "layerdrop": 0.0, "apply_spec_augment": False,
    }),
    "Swin2SRModel": ("picture", {
        "image_size": 32, "embed_dim": 12, "depths": [2, 1], "num_heads": [2, 2], "window_size": 4,
    }),
    "InformerModel": ("history", {
        "prediction_length": 4, "context_length": 16, "lags_sequence": [1, 2, 3],
        "num_time_features": 2, "d_model": 16, "sampling_factor": 2, "encoder_layers": 2,
        "decoder_layers": 1, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
    }),
    "Qwen3NextForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "linear_conv_kernel_dim": 3,
        "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "moe_intermediate_size": 24, "num_experts": 4,
        "num_experts_per_tok": 2, "shared_expert_intermediate_size": 24,
        "layer_types": ["linear_attention", "full_attention"],
    }),
    "PhimoeForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
    }),
    "LongT5Model": ("both ids", {
        "vocab_size": 101, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
        "local_radius": 3, "encoder_attention_type": "transient-global", "global_block_size": 4,
        "use_cache": False,
    }),
    "AutoformerModel": ("history", {
        "prediction_length": 4, "context_length": 16, "lags_sequence": [1, 2, 3],
        "num_time_features": 2, "d_model": 16, "moving_average": 5, "label_length": 4,
        "encoder_layers": 2, "decoder_layers": 1, "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
    }),
    "PatchTSMixerModel": ("series", {
        "context_length": 32, "patch_length": 4, "patch_stride": 4, "num_input_channels": 3,
        "d_model": 16, "num_layers": 2, "mode": "mix_channel",
    }),
    "UnivNetModel": ("spectrum", {
        "model_in_channels": 8, "model_hidden_channels": 8, "num_mel_bins": 10,
        "resblock_kernel_sizes": [3, 3], "resblock_stride_sizes": [4, 4],
        "resblock_dilation_sizes": [[1, 3], [1, 3]], "kernel_predictor_num_blocks": 1,
        "kernel_predictor_hidden_channels": 8,
    }),
    "BlipForConditionalGeneration": ("captioned picture", {
        "text_config": _TEXT | _HEADS | {
            "encoder_hidden_size": 32, "projection_dim": 16, "bos_token_id": 1,
        },
        "vision_config": _HEADS | {
            "hidden_size": 32, "projection_dim": 16, "image_size": 32, "patch_size": 8,
        },
        "projection_dim": 16, "image_text_hidden_size": 16,
    }),
    "DbrxForCausalLM": ("ids", {
        "vocab_size": 101, "d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
        "use_cache": False, "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4},
        "ffn_config": {
            "hidden_size": 32, "ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2,
        },
    }),
    "DeformableDetrModel": ("large picture", {
        "backbone_config": {
            "model_type": "timm_backbone", "backbone": "resnet18", "out_indices": [2, 3, 4],
        },
        "num_queries": 12, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
    }),
    "DPTForDepthEstimation": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8, "num_hidden_layers": 4,
        "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 12, 16, 24],
        "fusion_hidden_size": 16,
    }),
    "EncodecModel": ("sound", {
        "hidden_size": 16, "codebook_dim": 16, "num_filters": 4, "upsampling_ratios": [4, 2],
        "codebook_size": 16, "num_lstm_layers": 1, "target_bandwidths": [24.0],
    }),
    "FalconH1ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8,
        "mamba_d_state": 8, "mamba_chunk_size": 8, "mamba_rms_norm": True,
    }),
    "Gemma3nForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_hidden_layers": 4, "intermediate_size": [48] * 4, "num_key_value_heads": 2,
        "head_dim": 8, "sliding_window": 8, "vocab_size_per_layer_input": 101,
        "hidden_size_per_layer_input": 8, "altup_num_inputs": 2, "num_kv_shared_layers": 1,
        "laurel_rank": 4, "activation_sparsity_pattern": [0.9, 0.9, 0.0, 0.0],
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    }),
    "LayoutLMv3Model": ("page", _TEXT | _HEADS | {
        "input_size": 32, "patch_size": 8, "coordinate_size": 5, "shape_size": 6,
        "max_position_embeddings": 64, "max_2d_position_embeddings": 64,
    }),
    "MoonshineForConditionalGeneration": ("speech", _TEXT | {
        "intermediate_size": 48, "encoder_num_hidden_layers": 1, "decoder_num_hidden_layers": 1,
        "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4,
        "decoder_start_token_id": 1,
    }),
    "PerceiverForMaskedLM": ("bytes", {
        "num_latents": 6, "d_latents": 32, "d_model": 24, "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4, "num_cross_attention_heads": 4, "qk_channels": 16,
        "v_channels": 32, "vocab_size": 101, "max_position_embeddings": 16,
    }),
    "SEWDModel": ("wave", _HEADS | {
        "hidden_size": 32, "conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3],
        "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "position_buckets": 8,
        "max_position_embeddings": 64, "apply_spec_augment": False,
    }),
    "TapasForQuestionAnswering": ("table", _TEXT | _HEADS | {
        "max_position_embeddings": 64, "max_num_rows": 4, "max_num_columns": 4,
        "type_vocab_sizes": [3] * 7, "num_aggregation_labels": 4,
    }),
    "ViTMAEForPreTraining": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8, "decoder_num_attention_heads": 4,
        "decoder_hidden_size": 24, "decoder_num_hidden_layers": 1,
        "decoder_intermediate_size": 48, "norm_pix_loss": True,
    }),
    "LevitModel": ("large picture", {
        "image_size": 128, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4],
        "depths": [1, 1, 1], "key_dim": [4, 4, 4],
    }),
    "SwiftFormerModel": ("large picture", {
        "image_size": 128, "depths": [1, 1, 1, 1], "embed_dims": [8, 16, 24, 32],
    }),
    "MobileViTModel": ("large picture", {
        "image_size": 128, "hidden_sizes": [16, 24, 32],
        "neck_hidden_sizes": [8, 8, 16, 16, 24, 32, 32],
    }),
    "PvtV2Model": ("large picture", {
        "image_size": 128, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32],
        "num_attention_heads": [1, 2, 3, 4], "mlp_ratios": [2, 2, 2, 2],
    }),
    "SEWModel": ("wave", _HEADS | {
        "hidden_size": 32, "conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3],
        "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "layerdrop": 0.0,
        "apply_spec_augment": False,
    }),
    "VivitModel": ("film", _HEADS | {
        "hidden_size": 32, "image_size": 16, "num_frames": 3, "tubelet_size": [1, 4, 4],
    }),
    "TimeSeriesTransformerModel": ("history", {
        "prediction_length": 4, "context_length": 16, "lags_sequence": [1, 2, 3],
        "num_time_features": 2, "d_model": 16, "encoder_layers": 2, "decoder_layers": 1,
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
    }),
    "JetMoeForCausalLM": ("ids", _TEXT | {
        "num_hidden_layers": 2, "num_key_value_heads": 2, "kv_channels": 8,
        "intermediate_size": 48, "num_local_experts": 4, "num_experts_per_tok": 2,
    }),
    "Zamba2ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 4, "mamba_d_state": 8, "n_mamba_heads": 4, "chunk_size": 8,
        "layers_block_type": ["mamba", "hybrid"], "num_hidden_layers": 2, "num_mem_blocks": 1,
    }),
    "Cohere2ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    }),
    "DacModel": ("sound", {
        "encoder_hidden_size": 8, "decoder_hidden_size": 32, "hidden_size": 32,
        "downsampling_ratios": [2, 4], "upsampling_ratios": [4, 2], "n_codebooks": 2,
        "codebook_size": 16, "codebook_dim": 4,
    }),
    "MimiModel": ("sound", _HEADS | {
        "hidden_size": 32, "num_filters": 4, "upsampling_ratios": [4, 2], "codebook_size": 16,
        "codebook_dim": 16, "vector_quantization_hidden_dimension": 16, "num_quantizers": 3,
        "upsample_groups": 32, "num_key_value_heads": 4, "head_dim": 8, "sliding_window": 12,
    }),
    "PegasusXModel": ("both ids", {
        "vocab_size": 101, "d_model": 32, "encoder_layers": 2, "decoder_layers": 1,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48, "block_size": 8, "num_global_tokens": 4, "use_cache": False,
        "decoder_start_token_id": 0,
    }),
    "NemotronHForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "ssm_state_size": 8, "mamba_num_heads": 4,
        "mamba_head_dim": 8, "n_groups": 2, "chunk_size": 8, "n_routed_experts": 4,
        "moe_intermediate_size": 24, "moe_shared_expert_intermediate_size": 24,
    }),
    "Wav2Vec2BertModel": ("frames", _HEADS | {
        "hidden_size": 32, "feature_projection_input_dim": 20, "layerdrop": 0.0,
        "apply_spec_augment": False, "add_adapter": True, "output_hidden_size": 32,
        "conv_depthwise_kernel_size": 5,
    }),
    "BitModel": ("picture", {
        "embedding_size": 16, "hidden_sizes": [16, 32, 32, 48], "depths": [1, 1, 2, 1],
        "num_groups": 4, "global_padding": "same",
    }),
    "SuperPointForKeypointDetection": ("large picture", {
        "encoder_hidden_sizes": [8, 8, 16, 16], "decoder_hidden_size": 16,
        "descriptor_decoder_dim": 16, "max_keypoints": 20,
    }),
    "GroupViTVisionModel": ("picture", {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "depths": [1, 1, 1],
        "num_group_tokens": [6, 4, 0], "num_output_groups": [6, 4, 4], "num_attention_heads": 4,
        "image_size": 32, "patch_size": 8,
    }),
    "Llama4TextModel": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "intermediate_size_mlp": 48,
        "num_local_experts": 4, "attention_chunk_size": 8, "no_rope_layers": [1, 0],
        "layer_types": ["chunked_attention", "full_attention"], "moe_layers": [0, 1],
    }),
    "ConditionalDetrModel": ("large picture", {
        "backbone_config": {
            "model_type": "timm_backbone", "backbone": "resnet18", "out_indices": [4],
        },
        "num_queries": 12, "d_model": 32, "encoder_layers": 1, "decoder_layers": 2,
        "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
    }),
    "VitDetModel": ("picture", {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_ratio": 2,
        "image_size": 32, "pretrain_image_size": 48, "patch_size": 4, "window_size": 3,
        "window_block_indices": [0], "residual_block_indices": [1],
        "use_relative_position_embeddings": True,
    }),
    "TextNetModel": ("picture", {
        "stem_out_channels": 8, "hidden_sizes": [8, 8, 12, 16, 16],
        "conv_layer_kernel_sizes": [[[3, 3]], [[3, 3], [1, 3]], [[3, 1]], [[3, 3]]],
        "conv_layer_strides": [[1], [2, 1], [2], [2]],
    }),
    "MobileViTV2Model": ("large picture", {
        "n_attn_blocks": [1, 1, 1], "base_attn_unit_dims": [16, 16, 24], "image_size": 128,
        "width_multiplier": 0.25,
    }),
    "DeepseekV2ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 4, "first_k_dense_replace": 1, "kv_lora_rank": 8, "q_lora_rank": 12,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 2,
        "topk_group": 1, "topk_method": "group_limited_greedy", "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8, "v_head_dim": 8, "moe_intermediate_size": 24,
    }),
    "BambaForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 2,
        "mamba_d_state": 8, "mamba_chunk_size": 8, "attn_layer_indices": [1],
    }),
    "LxmertModel": ("looked at", _HEADS | {
        "vocab_size": 101, "hidden_size": 32, "l_layers": 1, "x_layers": 1, "r_layers": 1,
        "visual_feat_dim": 20, "num_qa_labels": 7,
    }),
    "MgpstrForSceneTextRecognition": ("picture", {
        "image_size": [32, 32], "patch_size": 8, "max_token_length": 7,
        "num_character_labels": 20, "num_bpe_labels": 40, "num_wordpiece_labels": 30,
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    }),
    "PvtModel": ("picture", {
        "image_size": 32, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 3, 4], "mlp_ratios": [2, 2, 2, 2],
        "sequence_reduction_ratios": [4, 2, 1, 1],
    }),
    "Lfm2MoeForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_hidden_layers": 3, "num_key_value_heads": 2, "moe_intermediate_size": 24,
        "num_dense_layers": 1, "num_experts": 4, "num_experts_per_tok": 2,
        "layer_types": ["conv", "full_attention", "conv"],
    }),
    "EomtForUniversalSegmentation": ("picture", {
        "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 32,
        "patch_size": 8, "mlp_ratio": 2, "num_blocks": 1, "num_queries": 6,
        "num_upscale_blocks": 1, "num_labels": 5,
    }),
    "RegNetModel": ("picture", {
        "embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1],
        "groups_width": 4,
    }),
    "GraniteMoeHybridForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
        "shared_intermediate_size": 24, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 2,
        "mamba_d_state": 8, "mamba_chunk_size": 8, "layer_types": ["mamba", "attention"],
    }),
    "VideoMAEModel": ("film", _HEADS | {
        "hidden_size": 32, "image_size": 16, "patch_size": 8, "num_frames": 3, "tubelet_size": 1,
        "use_mean_pooling": True,
    }),
    "YolosForObjectDetection": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": [32, 32], "patch_size": 8, "num_detection_tokens": 6,
        "use_mid_position_embeddings": True, "num_labels": 5,
    }),
    "OlmoHybridForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
        "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_conv_kernel_dim": 3,
        "layer_types": ["linear_attention", "full_attention"],
    }),
    "xLSTMForCausalLM": ("ids", _TEXT | {
        "num_hidden_layers": 2, "num_heads": 4, "chunk_size": 8,
        "mlstm_round_up_to_multiple_of": 8, "ffn_round_up_to_multiple_of": 8,
        "chunkwise_kernel": "chunkwise--native_autograd",
        "sequence_kernel": "native_sequence__native", "step_kernel": "native", "mode": "train",
    }),
    "RTDetrModel": ("large picture", {
        "backbone_config": {
            "model_type": "rt_detr_resnet", "embedding_size": 8, "hidden_sizes": [8, 16, 24, 32],
            "depths": [1, 1, 1, 1], "layer_type": "basic",
            "out_features": ["stage2", "stage3", "stage4"],
        },
        "encoder_hidden_dim": 32, "encoder_in_channels": [16, 24, 32], "encoder_ffn_dim": 48,
        "encoder_attention_heads": 4, "d_model": 32, "num_queries": 12, "num_denoising": 0,
        "decoder_layers": 2, "decoder_in_channels": [32, 32, 32], "decoder_ffn_dim": 48,
        "decoder_attention_heads": 4,
    }),
    "CLIPSegForImageSegmentation": ("captioned picture", {
        "text_config": _TEXT | _HEADS | {"bos_token_id": 1, "eos_token_id": 2},
        "vision_config": _HEADS | {"hidden_size": 32, "image_size": 32, "patch_size": 8},
        "projection_dim": 16, "extract_layers": [0, 1], "reduce_dim": 16,
        "decoder_num_attention_heads": 2, "decoder_intermediate_size": 24, "conditional_layer": 0,
    }),
    "ParakeetEncoder": ("pitches", _HEADS | {
        "hidden_size": 32, "num_mel_bins": 16, "subsampling_conv_channels": 8,
        "conv_kernel_size": 5, "layerdrop": 0.0,
    }),
    "SpeechT5HifiGan": ("tones", {
        "model_in_dim": 10, "upsample_initial_channel": 16, "upsample_rates": [4, 2],
        "upsample_kernel_sizes": [8, 4], "resblock_kernel_sizes": [3, 5],
        "resblock_dilation_sizes": [[1, 3], [1, 3]],
    }),
    "VJEPA2Model": ("clip", {
        "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_ratio": 2,
        "crop_size": 16, "patch_size": 4, "frames_per_clip": 4, "tubelet_size": 2,
        "pred_hidden_size": 24, "pred_num_attention_heads": 1, "pred_num_hidden_layers": 1,
        "pred_num_mask_tokens": 2, "pred_mlp_ratio": 2.0,
    }),
    "DecisionTransformerModel": ("decisions", {
        "state_dim": 5, "act_dim": 3, "hidden_size": 32, "max_ep_len": 40, "n_layer": 2,
        "n_head": 4, "use_cache": False,
    }),
    "NllbMoeModel": ("both ids", {
        "vocab_size": 101, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48, "num_experts": 4, "encoder_sparse_step": 2,
        "decoder_sparse_step": 2, "expert_capacity": 8, "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0, "use_cache": False, "max_position_embeddings": 64,
        "decoder_start_token_id": 2, "pad_token_id": 0,
    }),
    "BrosModel": ("boxes", _TEXT | _HEADS | {"hidden_size": 64, "bbox_scale": 1.0}),
    "DogeForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "keep_window_size": 8, "is_moe": True, "num_experts": 16,
        "num_experts_per_tok": 2,
    }),
    "Data2VecAudioModel": ("wave", _TEXT | _HEADS | {
        "conv_dim": [8, 8, 8], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
        "conv_pos_kernel_size": 5, "num_conv_pos_embeddings": 2,
        "num_conv_pos_embedding_groups": 4, "layerdrop": 0.0, "mask_time_prob": 0.0,
    }),
    "FSMTModel": ("both ids", {
        "langs": ["a", "b"], "src_vocab_size": 101, "tgt_vocab_size": 101, "d_model": 32,
        "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "max_position_embeddings": 64,
        "use_cache": False,
    }),
    "ImageGPTModel": ("ids", {
        "vocab_size": 101, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
        "use_cache": False,
    }),
    "MobileNetV1Model": ("picture", {
        "depth_multiplier": 0.25, "image_size": 32,
    }),
    "Qwen3MoeForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "moe_intermediate_size": 24, "num_experts": 4,
        "num_experts_per_tok": 2,
    }),
    "SamVisionModel": ("square picture", _HEADS | {
        "hidden_size": 32, "image_size": 64, "patch_size": 8, "window_size": 3,
        "global_attn_indexes": [1], "mlp_dim": 48, "output_channels": 16,
    }),
    "VitsModel": ("ids", {
        "vocab_size": 101, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "ffn_dim": 48, "flow_size": 16, "spectrogram_bins": 17, "upsample_initial_channel": 16,
        "upsample_rates": [4, 2], "upsample_kernel_sizes": [8, 4], "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3]], "prior_encoder_num_flows": 2,
        "prior_encoder_num_wavenet_layers": 2, "posterior_encoder_num_wavenet_layers": 2,
        "duration_predictor_num_flows": 2, "duration_predictor_filter_channels": 16,
        "duration_predictor_flow_bins": 4, "wavenet_kernel_size": 3,
        "use_stochastic_duration_prediction": False, "layerdrop": 0.0,
    }),
    "SegGptModel": ("prompted picture", _HEADS | {
        "hidden_size": 32, "image_size": [32, 16], "patch_size": 8, "decoder_hidden_size": 16,
        "merge_index": 0, "intermediate_hidden_state_indices": [0, 1], "pretrain_image_size": 16,
        "mlp_dim": 48,
    }),
    "XCLIPVisionModel": ("film rows", _HEADS | {
        "hidden_size": 32, "image_size": 16, "patch_size": 4, "num_frames": 3,
        "mit_hidden_size": 16, "mit_intermediate_size": 24, "mit_num_hidden_layers": 1,
        "mit_num_attention_heads": 2,
    }),
    "RoCBertModel": ("ids", _TEXT | _HEADS | {
        "pronunciation_vocab_size": 20, "shape_vocab_size": 20, "pronunciation_embed_dim": 8,
        "shape_embed_dim": 8,
    }),
    "HGNetV2Backbone": ("picture", {
        "stem_channels": [3, 8, 8], "stage_in_channels": [8, 16, 24, 32],
        "stage_mid_channels": [8, 8, 8, 8], "stage_out_channels": [16, 24, 32, 40],
        "stage_numb_of_layers": [2, 2, 2, 2], "embedding_size": 8,
        "hidden_sizes": [16, 24, 32, 40],
    }),
    "Data2VecVisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8, "use_relative_position_bias": True,
    }),
    "FalconMambaForCausalLM": ("ids", _TEXT | {
        "num_hidden_layers": 1, "state_size": 4, "expand": 2,
    }),
    "GLPNForDepthEstimation": ("large picture", {
        "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32], "decoder_hidden_size": 16,
        "num_attention_heads": [1, 2, 3, 4],
    }),
    "PixtralVisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "Speech2TextModel": ("spoken", {
        "vocab_size": 101, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
        "conv_channels": 24, "input_feat_per_channel": 10, "max_source_positions": 64,
        "max_target_positions": 64, "use_cache": False,
    }),
    "ViltModel": ("captioned picture", _TEXT | _HEADS | {
        "image_size": 32, "patch_size": 8,
    }),
    "Wav2Vec2ConformerModel": ("wave", _TEXT | _HEADS | {
        "conv_dim": [8, 8, 8], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
        "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 4, "layerdrop": 0.0, "mask_time_prob": 0.0,
        "position_embeddings_type": "relative",
    }),
    "TimesFmModel": ("past", _HEADS | {
        "hidden_size": 32, "patch_length": 8, "horizon_length": 8, "context_length": 32,
        "head_dim": 8,
    }),
    "VisualBertModel": ("ids", _TEXT | _HEADS | {
        "visual_embedding_dim": 16,
    }),
    "Glm4MoeForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "moe_intermediate_size": 24,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
        "first_k_dense_replace": 1,
    }),
    "OwlViTModel": ("captioned picture", {
        "text_config": _TEXT | _HEADS | {"max_position_embeddings": 16},
        "vision_config": _HEADS | {"hidden_size": 32, "image_size": 32, "patch_size": 8},
        "projection_dim": 16,
    }),
    "MBartModel": ("both ids", _PAIR),
    "BigBirdPegasusModel": ("both ids", _PAIR | {
        "attention_type": "original_full",
    }),
    "OpenAIGPTModel": ("ids", {
        "vocab_size": 101, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
    }),
    "ModernBertDecoderForCausalLM": ("ids", _TEXT | _HEADS | {
        "local_attention": 8, "global_attn_every_n_layers": 2,
    }),
    "UniSpeechSatModel": ("wave", _TEXT | _HEADS | {
        "conv_dim": [8, 8, 8], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
        "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 4, "layerdrop": 0.0, "mask_time_prob": 0.0,
    }),
    "XLMRobertaXLModel": ("ids", _TEXT | _HEADS),
    "RobertaPreLayerNormModel": ("ids", _TEXT | _HEADS),
    "Olmo3ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "sliding_window": 8,
    }),
    "FlexOlmoForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2,
    }),
    "LongcatFlashForCausalLM": ("ids", _TEXT | {
        "num_layers": 1, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_hidden_size": 48,
        "expert_ffn_hidden_size": 24, "n_routed_experts": 4, "zero_expert_num": 2, "moe_topk": 2,
        "kv_lora_rank": 8, "q_lora_rank": 12, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
        "v_head_dim": 8, "head_dim": 8,
    }),
    "Ernie4_5_MoeForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "moe_intermediate_size": 24, "moe_num_experts": 4, "moe_k": 2,
        "moe_num_shared_experts": 1, "moe_layer_start_index": 1,
    }),
    "GraniteMoeSharedForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
        "shared_intermediate_size": 24,
    }),
    "VaultGemmaForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 8,
    }),
    "NanoChatForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2,
    }),
    "ApertusForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2,
    }),
    "HunYuanMoEV1ForCausalLM": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2, "head_dim": 8, "num_experts": 4, "moe_topk": 2,
    }),
    "MarkupLMModel": ("ids", _TEXT | _HEADS | {
        "max_depth": 4, "xpath_unit_hidden_size": 4, "max_xpath_tag_unit_embeddings": 16,
        "max_xpath_subs_unit_embeddings": 16, "tag_pad_id": 3, "subs_pad_id": 3,
    }),
    "LiltModel": ("text boxes", _TEXT | _HEADS | {
        "hidden_size": 48, "channel_shrink_ratio": 2,
    }),
    "DINOv3ViTModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "DINOv3ConvNextModel": ("picture", {
        "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1],
    }),
    "IJepaModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "DonutSwinModel": ("picture", {
        "image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4],
        "window_size": 4,
    }),
    "Aimv2VisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "FocalNetModel": ("picture", {
        "image_size": 32, "patch_size": 2, "embed_dim": 16, "hidden_sizes": [16, 32],
        "depths": [1, 1], "focal_levels": [2, 2], "focal_windows": [3, 3],
    }),
    "AltCLIPModel": ("captioned picture", {
        "text_config": _TEXT | _HEADS | {"project_dim": 16},
        "vision_config": _HEADS | {"hidden_size": 32, "image_size": 32, "patch_size": 8},
        "projection_dim": 16,
    }),
    "MusicgenForCausalLM": ("codes", {
        "vocab_size": 101, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "ffn_dim": 48, "num_codebooks": 2, "layerdrop": 0.0, "use_cache": False,
    }),
    "Qwen2AudioEncoder": ("frames", {
        "d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 48,
        "num_mel_bins": 24, "max_source_positions": 10,
    }),
    "PixioModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "EuroBertModel": ("ids", _TEXT | _HEADS | {
        "num_key_value_heads": 2,
    }),
    "LasrEncoder": ("pitches", _HEADS | {
        "hidden_size": 32, "num_mel_bins": 16, "subsampling_conv_channels": 8,
        "conv_kernel_size": 5, "layerdrop": 0.0,
    }),
    "AfmoeForCausalLM": ("ids", _GROUPED | {
        "moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2,
        "num_dense_layers": 1, "sliding_window": 8,
    }),
    "AriaTextForCausalLM": ("ids", _GROUPED | {
        "moe_num_experts": 4, "moe_topk": 2, "moe_num_shared_experts": 1,
    }),
    "ExaoneMoeForCausalLM": ("ids", _GROUPED | {
        "moe_intermediate_size": 24, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
    }),
    "Cohere2MoeForCausalLM": ("ids", _GROUPED | {
        "num_experts": 4, "num_experts_per_tok": 2,
    }),
    "CwmForCausalLM": ("ids", _GROUPED | {
        "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"],
    }),
    "Dots1ForCausalLM": ("ids", _GROUPED | {
        "moe_intermediate_size": 24, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1,
    }),
    "Gemma3ForCausalLM": ("ids", _GROUPED | {
        "sliding_window": 8,
    }),
    "Lfm3ForCausalLM": ("ids", _GROUPED),
    "MiniCPM3ForCausalLM": ("ids", _TEXT | _HEADS | {
        "kv_lora_rank": 8, "q_lora_rank": 12, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
        "v_head_dim": 8,
    }),
    "MinistralForCausalLM": ("ids", _GROUPED | {
        "sliding_window": 8,
    }),
    "Ministral3ForCausalLM": ("ids", _GROUPED),
    "MiMoV2FlashForCausalLM": ("ids", _GROUPED | {
        "moe_intermediate_size": 24, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
    }),
    "NomicBertModel": ("ids", _TEXT | _HEADS),
    "Qwen2MoeForCausalLM": ("ids", _GROUPED | {
        "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24, "num_experts": 4,
        "num_experts_per_tok": 2,
    }),
    "SolarOpenForCausalLM": ("ids", _GROUPED | {
        "moe_intermediate_size": 24, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
    }),
    "Jais2ForCausalLM": ("ids", _GROUPED),
    "GteModel": ("ids", _TEXT | _HEADS),
    "JinaEmbeddingsV3Model": ("ids", _TEXT | _HEADS),
    "T5GemmaModel": ("both ids", {
        "encoder": _GROUPED | {"sliding_window": 8}, "decoder": _GROUPED | {"sliding_window": 8},
    }),
    "BlipTextModel": ("ids", _TEXT | _HEADS | {
        "encoder_hidden_size": 32, "is_decoder": False,
    }),
    "Blip2QFormerModel": ("queries", _HEADS | {
        "hidden_size": 32, "encoder_hidden_size": 24,
    }),
    "Idefics3VisionTransformer": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "Owlv2VisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "MetaClip2VisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "MaskFormerSwinModel": ("picture", {
        "image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4],
        "window_size": 4,
    }),
    "Sam2HieraDetModel": ("square picture", {
        "hidden_size": 16, "num_attention_heads": 1, "image_size": [64, 64],
        "blocks_per_stage": [1, 1, 2, 1], "embed_dim_per_stage": [16, 32, 64, 128],
        "num_attention_heads_per_stage": [1, 2, 4, 8], "window_size_per_stage": [4, 2, 4, 2],
        "global_attention_blocks": [3], "window_positional_embedding_background_size": [4, 4],
    }),
    "Sam3ViTModel": ("square picture", _HEADS | {
        "hidden_size": 32, "image_size": 64, "patch_size": 8, "window_size": 4,
        "global_attn_indexes": [1], "pretrain_image_size": 32,
    }),
    "SamHQVisionModel": ("square picture", _HEADS | {
        "hidden_size": 32, "image_size": 64, "patch_size": 8, "window_size": 3,
        "global_attn_indexes": [1], "mlp_dim": 48, "output_channels": 16,
    }),
    "Sapiens2Model": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "VoxtralEncoder": ("frames", {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48, "num_mel_bins": 24, "max_source_positions": 10,
    }),
    "GlmAsrEncoder": ("frames", _HEADS | {
        "hidden_size": 32, "num_mel_bins": 24,
    }),
    "HrmTextModel": ("ids", _GROUPED),
    "SiglipTextModel": ("ids", _TEXT | _HEADS | {
        "max_position_embeddings": 16,
    }),
    "IBertModel": ("ids", _TEXT | _HEADS | {
        "quant_mode": True,
    }),
    "Dinov2WithRegistersModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "ViTMSNModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "MLCDVisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "FlavaImageModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "SmolVLMVisionTransformer": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": 32, "patch_size": 8,
    }),
    "InternVLVisionModel": ("picture", _HEADS | {
        "hidden_size": 32, "image_size": [32, 32], "patch_size": [8, 8],
    }),
    "ChineseCLIPModel": ("captioned picture", {
        "text_config": _TEXT | _HEADS,
        "vision_config": _HEADS | {"hidden_size": 32, "image_size": 32, "patch_size": 8},
        "projection_dim": 16,
    }),
    "HubertModel": ("wave", _TEXT | _HEADS | {
        "conv_dim": [8, 8, 8], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
        "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8,
        "num_conv_pos_embedding_groups": 4, "layerdrop": 0.0, "mask_time_prob": 0.0,
    }),
    "Glm4ForCausalLM": ("ids", _GROUPED),
    "SeedOssForCausalLM": ("ids", _GROUPED),
}  # fmt: skip
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "ids": {"input_ids": (2, 16)},
    "both ids": {"input_ids": (2, 16), "decoder_input_ids": (2, 9)},
    "bytes": {"inputs": (2, 16)},
    "table": {"input_ids": (2, 16), "token_type_ids": (2, 16, 7)},
    "captioned picture": {"input_ids": (2, 16), "pixel_values": (2, 3, 32, 32)},
    "page": {"input_ids": (2, 16), "bbox": (2, 16, 4), "pixel_values": (2, 3, 32, 32)},
    "speech": {"input_values": (2, 4000), "decoder_input_ids": (2, 9)},
    "large picture": {"pixel_values": (1, 3, 128, 128)},
    "sound": {"input_values": (2, 1, 400)},
    "film": {"pixel_values": (2, 3, 3, 16, 16)},
    "series": {"past_values": (2, 32, 3)},
    "picture": {"pixel_values": (2, 3, 32, 32)},
    "wave": {"input_values": (2, 400)},
    "spectrum": {"input_features": (2, 12, 10)},
    "frames": {"input_features": (2, 24, 20)},
    "pitches": {"input_features": (2, 40, 16)},
    "tones": {"spectrogram": (2, 12, 10)},
    "clip": {"pixel_values_videos": (2, 4, 3, 16, 16)},
    "boxes": {"input_ids": (2, 16), "bbox": (2, 16, 8)},
    "decisions": {
        "states": (2, 6, 5),
        "actions": (2, 6, 3),
        "rewards": (2, 6, 1),
        "returns_to_go": (2, 6, 1),
        "timesteps": (2, 6),
        "attention_mask": (2, 6),
    },
    "looked at": {
        "input_ids": (2, 16),
        "visual_feats": (2, 6, 20),
        "visual_pos": (2, 6, 4),
    },
    "history": {
        "past_values": (2, 19),
        "past_time_features": (2, 19, 2),
        "past_observed_mask": (2, 19),
        "future_values": (2, 4),
        "future_time_features": (2, 4, 2),
    },
    "square picture": {"pixel_values": (2, 3, 64, 64)},
    "spoken": {"input_features": (2, 24, 10), "decoder_input_ids": (2, 9)},
    "prompted picture": {
        "pixel_values": (2, 3, 16, 16),
        "prompt_pixel_values": (2, 3, 16, 16),
        "prompt_masks": (2, 3, 16, 16),
    },
    "film rows": {"pixel_values": (6, 3, 16, 16)},
    "past": {"past_values": (2, 32), "past_values_padding": (2, 32), "freq": (2, 1)},
    "text boxes": {"input_ids": (2, 16), "bbox": (2, 16, 4)},
    "codes": {"input_ids": (4, 8)},
    "queries": {"query_embeds": (2, 6, 32), "encoder_hidden_states": (2, 9, 24)},
}
NUMBERS = {
    "input_ids": (3, 90), "decoder_input_ids": (3, 90), "inputs": (3, 90),
    "token_type_ids": (0, 3), "bbox": (30, 31), "timesteps": (0, 40), "attention_mask": (1, 2),
    "freq": (0, 3), "past_values_padding": (0, 1),
}  # fmt: skip
"""Inputs of whole numbers, and between what."""
