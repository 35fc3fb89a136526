# SPDX-License-Identifier: Apache-2.0
"""Cases for operators of com.microsoft, as in cases.py: what optimisers write in place of several nodes, attention and its
caches, mixtures of experts, layers with a state, and weights of few bits."""
import math

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from cases import (F, I, Constant, attention, convolved, filters, gelu, grid, heads, layer_norm, ms, net, photo, real, rms_norm,
                   sigmoid, softmax)

H = np.float16


def silu(v):
    return v * sigmoid(v)


def tanh_gelu(v):
    return v * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3)))


def int32(v):
    return np.array(v, np.int32)


def byte(v):
    return np.array(v, np.uint8)


line, cube = grid(2, 4), grid(2, 3, 4)

# ---- operators of the standard, with a detail more ----
ms("Pad", [line, np.array([[0, 1, 1, -1]], I)], [np.pad(line, ((0, 1), (1, 0)))[:, :-1]])
ms("Pad", [grid(3), np.array([2, 0], I)], [grid(3)[[2, 1, 0, 1, 2]]], mode="reflect")
ms("Range", [np.array([3], I), np.array([6], I)], [np.array([3, 4, 5], I)])
ms("Trilu", [cube, np.array(1, I)], [np.triu(cube, 1)])
ms("Trilu", [cube], [np.tril(cube)], upper=0)
ms("Unique", [np.array([2, 1, 1, 3, 4, 3], F)], [np.array([2, 1, 3, 4], F), np.array([0, 1, 1, 2, 3, 2], I), np.array([1, 2, 2, 1], I)])
ms("GatherND", [cube, int32([[0, 1], [1, 2]])], [cube[[0, 1], [1, 2]]])
ms("ExpandDims", [line, Constant(int32(-2))], [line[:, None]])
ms("SampleOp", [line], [line])
ms("TorchEmbedding", [cube[0], np.array([[2, 0]], I)], [cube[0][[[2, 0]]]])
ms("BiasSoftmax", [cube, grid(1, 3, 4) * F(0.5)], [softmax((cube + grid(1, 3, 4) * F(0.5)).reshape(2, 12)).reshape(2, 3, 4)], axis=1,
   is_inner_broadcast=0)
ms("BiasDropout", [line, grid(4), line], [line + grid(4) + line, np.ones((2, 4), bool)])
ms("BitmaskDropout", [grid(5, 7)], [grid(5, 7), np.array([0xFFFFFFFF, 7], np.uint32)])
ms("BitmaskBiasDropout", [line, grid(4)], [line + grid(4), np.array([255], np.uint32)])
ms("FusedMatMulActivation", [grid(3, 2), grid(4, 3)], [sigmoid(F(0.5) * (grid(3, 2).T @ grid(4, 3).T)).astype(F)], transA=1, transB=1,
   alpha=0.5, activation="Sigmoid")
last = photo.transpose(0, 2, 3, 1)
bias = np.array([0.5, -1], F)
ms("NhwcConv", [last, filters, bias], [convolved.transpose(0, 2, 3, 1) + bias])
ms("NhwcFusedConv", [last, filters, None, convolved.transpose(0, 2, 3, 1)], [np.maximum(2 * convolved.transpose(0, 2, 3, 1), 0)],
   activation="Relu")
image, gain, shift = grid(1, 2, 2, 4), grid(4) + F(2), grid(4) * F(0.5)


def group_norm(v, groups):
    parts = v.reshape(1, 4, groups, -1)
    mean, var = (f(parts, axis=(1, 3), keepdims=True) for f in (np.mean, np.var))
    return ((parts - mean) / np.sqrt(var + 1e-5)).reshape(v.shape) * gain + shift


ms("GroupNorm", [image, gain, shift], [group_norm(image, 2).astype(F)], groups=2, activation=0)
ms("GroupNorm", [image.transpose(0, 3, 1, 2), gain, shift], [silu(group_norm(image, 2)).transpose(0, 3, 1, 2).astype(F)], groups=2,
   activation=1, channels_last=0)
ms("SkipGroupNorm", [image, gain, shift, shift[None], gain], [group_norm(image + shift + gain, 1).astype(F), image + shift + gain],
   groups=1, activation=0)


def word_vectors(words, weights, bias, table):
    window, vectors = weights.shape[2], np.zeros((len(words), len(weights)), F)
    for word, vector in zip(words, vectors):
        length = max(np.sum(word > 0), window) if word[0] > 0 else 0
        windows = [np.sum(weights[:, 0] * table[word[k:k + window]], axis=(1, 2)) for k in range(length - window + 1)]
        if length:
            vector[:] = np.tanh(np.max(windows, axis=0) + bias)
    return vectors


characters = [int32([[1, 2, 3, 0], [4, 0, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4], [0, 1, 2, 3], [1, 0, 3, 2]]), grid(3, 1, 2, 3), grid(3) * F(0.5),
              grid(5, 3)]
ms("WordConvEmbedding", characters, [word_vectors(*characters)])
ms("WordConvEmbedding", characters, [word_vectors(*characters)], embedding_size=3, conv_window_size=2, char_embedding_size=3)
wave = grid(2, 6)
spectrum = np.fft.rfft(wave)
ms("Rfft", [wave], [np.stack([spectrum.real, spectrum.imag], -1).astype(F)], signal_ndim=1)
ms("Irfft", [np.stack([spectrum.real, spectrum.imag], -1).astype(F)], [wave], signal_ndim=1)
one, two = grid(3, 2), grid(2, 3, 2) * F(0.5)
joined = [(v[..., 0] + 1j * v[..., 1]) for v in (one, two)]
for name, result in (("ComplexMul", joined[0] * joined[1]), ("ComplexMulConj", joined[0] * joined[1].conj())):
    ms(name, [one, two], [np.stack([result.real, result.imag], -1).astype(F)])
small = byte([[3, 200], [7, 0]])
ms("MulInteger", [small, byte(5), small, byte(0)], [(small.astype(np.int32) - 5) * small])
ms("ReduceSumInteger", [small], [small.sum(0, keepdims=True).astype(np.uint32)], axes=[0], keepdims=1)
ms("MatMulInteger16", [np.array([[300, -7]], np.int16), np.array([[2], [1000]], np.int16)], [int32([[600 - 7000]])])
ms("QLinearReduceMean", [small, F(0.5), byte(2), F(0.25), byte(1)],
   [np.clip(np.rint(real(small, F(0.5), 2).mean(1) / F(0.25)) + 1, 0, 255).astype(np.uint8)], axes=[1], keepdims=0)
ms("MurmurHash3", [np.array([0x87654321, 0xFFFFFFFF, 0], np.uint32)], [np.array([0xF55B516B, 0x76293B50, 0x2362F9DE], np.uint32)], seed=0)

# ---- embeddings and attention ----
ids = int32([[1, 0]])
tables = [byte(np.arange(12).reshape(3, 4) * 5), byte(np.arange(8).reshape(2, 4) * 9)]
scales = [np.array(v, F) for v in (0.1, 0.2, 0.05, 0.02)]
edges = [byte([100, 60, 30, 90]), byte([0, 5, 20, 9])]
zero = byte(3)
unpacked = [(t.astype(F) - 3) * s for t, s in zip(tables + edges, scales)]
ms("QEmbedLayerNormalization", [ids, None, *tables, None, *edges, None, *scales[:2], None, *scales[2:], zero, zero, None, zero, zero],
   [layer_norm(unpacked[0][ids] + unpacked[1][None], unpacked[2], unpacked[3], 1e-5), int32([0])], epsilon=1e-5)
angle = np.arange(4, dtype=F)[:, None] * np.array([1, 0.1], F)
cosines, sines = np.cos(angle), np.sin(angle)


def turn(v, c, s):
    a, b = v[..., :2], v[..., 2:]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


places = np.array([[[1, 2]], [[0, 3]], [[2, 2]]], I)
mixed = [np.stack([t[places[0], 0], t[places[1], 1]], -1) for t in (cosines, sines)]
ms("MRotaryEmbedding", [grid(1, 2, 4), places, cosines, sines], [turn(grid(1, 2, 4), *mixed)], mrope_section=[1, 1, 0], num_heads=1)
emb, q16 = grid(1, 2, 4), grid(1, 2, 2, 4).astype(H)
ms("GemmaRotaryEmbedding", [emb, q16, -q16, q16, q16],
   [q16 * np.cos(emb).astype(H) - q16 * np.sin(emb).astype(H), q16 * np.cos(emb).astype(H) + q16 * np.sin(emb).astype(H)])
ms("RMSNormRotary", [np.zeros((1, 2, 1, 4), H), np.ones(4, F), np.array([1], I), cosines, sines],
   [np.zeros((1, 2, 4), H), np.zeros((1, 2, 1, 4), F)], rotary_embedding_dim=4, output_fp16=1)
token = grid(1, 1, 4)
room = np.zeros((2, 1, 2, 3, 2), F)
room[:, :, :, :1] = 0.5
full = room.copy()
full[:, :, :, 1:2] = heads(token)
seen = np.array([True, True, False])


def over(q, cache, visible):
    scores = np.where(visible, heads(q) @ cache[0].transpose(0, 1, 3, 2) / math.sqrt(2), -np.inf)
    return (softmax(scores) @ cache[1]).transpose(0, 2, 1, 3).reshape(1, -1, 4).astype(F)


ms("DecoderMaskedMultiHeadAttention", [token, token, token, None, None, room[0], room[1], int32([1])],
   [over(token, full, seen), full[0], full[1]], num_heads=2, past_present_share_buffer=1)
ms("DecoderMaskedMultiHeadAttention", [token, room[0], room[1]], [over(token, room, [True] * 3)], num_heads=2)
projection = np.sin(np.arange(48, dtype=F)).reshape(4, 12)
qkv = np.split(token @ projection, 3, -1)
grown = np.stack([np.concatenate([room[i, :, :, :1], heads(qkv[1 + i])], 2) for i in range(2)])
ms("DecoderMaskedSelfAttention", [token, projection, np.zeros(12, F), None, room[:, :, :, :1], None, int32([1])],
   [over(qkv[0], grown, [True] * 2), grown], num_heads=2)
query, key, value = grid(1, 2, 4), grid(1, 3, 4) * F(0.5), grid(1, 3, 4)
scores = (heads(query) @ heads(key).transpose(0, 1, 3, 2) / math.sqrt(2)).astype(F)
ms("MultiHeadAttention", [query, key, value], [attention(query, key, value), heads(key), heads(value), scores], num_heads=2)
three = np.stack([grid(1, 2, 2, 2) * F(k) for k in (1, 0.5, 2)], 3)
ms("MultiHeadAttention", [three], [attention(*(three[:, :, :, k].reshape(1, 2, 4) for k in range(3)))], num_heads=2)
coded, weights = byte([[[3, 9, 1, 250], [0, 77, 5, 4]]]), (np.arange(48) % 11 - 5).astype(np.int8).reshape(4, 12)
column_scales = np.linspace(0.01, 0.05, 12).astype(F)
projected = ((coded.astype(F) - 2) @ weights.astype(F)) * (F(0.1) * column_scales) + grid(12)
ms("QAttention", [coded, weights, grid(12), F(0.1), column_scales, None, byte(2)], [attention(*np.split(projected, 3, -1))], num_heads=2)
# sequences of 2 and 1 tokens
offsets, begins = int32([[0, 1], [2, 3]]), int32([0, 2, 3])
tokens = grid(3, 4)


def packed(q, k, v):
    return np.concatenate([attention(q[None, a:b], k[None, a:b], v[None, a:b])[0] for a, b in ((0, 2), (2, 3))])


ms("PackedAttention", [tokens, projection, np.ones(12, F), offsets, begins], [packed(*np.split(tokens @ projection + 1, 3, -1))], num_heads=2)
ms("PackedMultiHeadAttention", [tokens, tokens * F(0.5), tokens, None, offsets, begins], [packed(tokens, tokens * F(0.5), tokens)], num_heads=2)
ms("RemovePadding", [np.concatenate([tokens, tokens[:1]]).reshape(2, 2, 4), int32([2, 1])], [tokens, offsets, begins, int32([2])])
ms("RestorePadding", [tokens, offsets], [np.concatenate([tokens, tokens[:1] * 0]).reshape(2, 2, 4)])
table = grid(8, 1)
distance = np.maximum(np.arange(12)[:, None] - np.arange(12), 0)
far = np.minimum(4 + (np.log(np.maximum(distance, 1) / 4) / math.log(20 / 4) * 4).astype(int), 7)
ms("RelativePositionBias", [table, Constant(np.array([12], I)), Constant(np.array([12], I))],
   [table[np.where(distance < 4, distance, far), 0][None, None]], max_distance=20)
layer, gate_weights, eco = grid(1, 2, 4), grid(2, 4), np.array([0.5, 2], F).reshape(1, 2, 1, 1)
gates = sigmoid((heads(layer + 1) @ gate_weights + 1).reshape(1, 2, 2, 2, 2).sum(-1))
ms("GatedRelativePositionBias", [layer, np.ones(4, F), grid(1, 2, 2, 2), gate_weights, np.ones(4, F), eco],
   [(gates[..., :1] * (gates[..., 1:] * eco - 1) + 2) * grid(1, 2, 2, 2)], num_heads=2)
# a cache of 8-bit numbers, and norms of heads
old = np.array([[[[8, -4]]]], np.int8)
new = grid(1, 1, 2) + F(1)
held = np.concatenate([old, np.clip(np.rint(new / F(0.25)), -128, 127).astype(np.int8)[:, None]], 2)
restored = held.astype(F) * F(0.25)
group = grid(1, 1, 4)
group_scores = group.reshape(1, 2, 1, 2) @ restored.transpose(0, 1, 3, 2) / math.sqrt(2)
ms("GroupQueryAttention", [group, new, new, old, old, int32([1]), Constant(int32(2)), None, None, None, None, None, F([0.25]), F([0.25])],
   [(softmax(group_scores) @ restored).reshape(1, 1, 4).astype(F), held, held], num_heads=2, kv_num_heads=1, k_quant_type="PER_TENSOR",
   v_quant_type="PER_TENSOR", kv_cache_bit_width=8)
normal = rms_norm(group.reshape(1, 1, 2, 2), F([1, 2]), 1e-6).reshape(1, 2, 1, 2), rms_norm(new, F([2, 1]), 1e-6)
normal_scores = (normal[0] @ normal[1][:, None].transpose(0, 1, 3, 2) / math.sqrt(2)).astype(F)
ms("GroupQueryAttention", [group, new, new, None, None, int32([0]), Constant(int32(1)), *[None] * 7, F([1, 2]), F([2, 1])],
   [np.concatenate([new, new], 2), normal[1][:, None], new[:, None], normal_scores], num_heads=2, kv_num_heads=1, qk_output=1)

# ---- mixtures of experts: the better two of three ----
rows, logits = grid(2, 4), np.array([[1, 3, 2], [0, -1, 0.5]], F)
up, down = np.sin(np.arange(96, dtype=F)).reshape(3, 8, 4), np.cos(np.arange(48, dtype=F)).reshape(3, 4, 4)


def moe(first, second, act):
    result = np.zeros_like(rows)
    for r in range(2):
        best = np.argsort(-logits[r])[:2]
        for e, share in zip(best, softmax(logits[r][best])):
            result[r] += share * (second[e] @ act(first[e] @ rows[r]))
    return result


ms("MoE", [rows, logits, up[:, :4], None, down], [moe(up[:, :4], down, tanh_gelu)], k=2, normalize_routing_weights=1, activation_type="gelu")
ms("MoE", [rows, logits, up, None, down], [moe(up, down, lambda h: silu(h[::2]) * (h[1::2] + 1))], k=2, normalize_routing_weights=1,
   activation_type="swiglu", swiglu_fusion=1, activation_beta=1.0)
nibbles = (np.arange(96) * 5 % 16).astype(np.uint8).reshape(3, 8, 4)
row_scale = np.linspace(0.1, 0.4, 24).astype(F).reshape(3, 8)
loose = (nibbles.astype(F) - 8) * row_scale[..., None]
pairs = nibbles[..., ::2] | nibbles[..., 1::2] << 4
ms("QMoE", [rows, logits, pairs[:, :4], row_scale[:, :4], None, pairs[:, 4:], row_scale[:, 4:]],
   [moe(loose[:, :4], loose[:, 4:], lambda h: np.maximum(h, 0))], k=2, normalize_routing_weights=1, weights_prepacked=0)
ms("MoEGroupRouter", [np.array([[0, 1, 3, 2]], F), np.array([5, 0, 0, 0], F)],
   [np.array([[math.log(0.5), math.log(1 / (1 + math.exp(-1))), -10000, -10000]], F)], n_group=2, topk_group=1, top_k=2, group_topk=1)

# ---- layers with a state ----
signal, taps, before = grid(1, 2, 4), grid(2, 1, 2), grid(1, 2, 2)
whole = np.concatenate([before, signal], 2)
conv = whole[:, :, :-2] * taps[:, 0, :1] + whole[:, :, 2:] * taps[:, 0, 1:]
ms("CausalConvWithState", [signal, taps, None, before], [silu(conv).astype(F), whole[:, :, 4:]], dilation=2, activation="silu")
ms("CausalConvWithState", [signal.transpose(0, 2, 1), taps, None, np.stack([before, before]).transpose(0, 1, 3, 2)],
   [conv.transpose(0, 2, 1), np.stack([whole[:, :, 3:5], whole[:, :, 4:]]).transpose(0, 1, 3, 2)], dilation=2, channels_last=1, state_window=2)
stretch, starts = grid(3, 2), int32([0, 2, 3])
states = grid(2, 2, 1)
back = np.stack([states[0, :, 0], stretch[0], states[1, :, 0]])
ms("VarlenCausalConvWithState", [stretch, taps, starts, F([1, 2]), states],
   [back * taps[:, 0, 0] + stretch * taps[:, 0, 1] + F([1, 2]), stretch[[1, 2]][..., None]])


def recurrence(q, k, v, g, b, state, scale):
    """One head: rows of tokens; the state is [keys, values]."""
    out, all_states = [], []
    for t in range(len(q)):
        state = state * np.exp(g[t])
        state = state + np.outer(k[t], (v[t] - state.T @ k[t]) * b[t])
        out.append(scale * state.T @ q[t])
        all_states.append(state)
    return np.stack(out).astype(F), np.stack(all_states).astype(F)


q1, k1, v1 = grid(3, 2), grid(3, 2)[::-1] * F(0.5), grid(3, 2) + F(0.5)
g1, b1, s1 = F([-0.5, -0.1, -1]), F([0.5, 0.25, 1]), grid(2, 2)
y1, after = recurrence(q1, k1, v1, g1, b1, s1, 0.5)
ms("LinearAttention", [q1[None], k1[None], v1[None], s1[None, None, None], g1[None, :, None], b1[None, :, None]],
   [y1[None], after[-1:, None, None]], q_num_heads=1, kv_num_heads=1, scale=0.5, state_window=1)
y2, after2 = recurrence(q1[1:], k1[1:], v1[1:], g1[1:], b1[1:], s1 * 0, 0.5)
y3, after3 = recurrence(q1[:1], k1[:1], v1[:1], g1[:1], b1[:1], s1 * 0, 0.5)
ms("GatedDeltaNet", [q1[:, None], k1[:, None], v1[:, None], int32([0, 1, 3]), g1[:, None], b1[:, None]],
   [np.concatenate([y3, y2])[:, None], np.stack([after3[-1].T, after2[-1].T])[:, None]], scale=0.5)
ms("LinearAttentionGate", [cube, grid(4), grid(4) * F(-0.5), cube],
   [(grid(4) * F(-0.5) * np.log1p(np.exp(cube + grid(4)))).astype(F), sigmoid(cube).astype(F)])

# ---- streams and memories ----
streams, stream_gates = grid(2, 3, 4), grid(2, 3)
ms("HyperConnectionPreMix", [streams, stream_gates], [F(0.5) * (streams * stream_gates[..., None]).sum(1)], reduction_scale=0.5)
mixing = grid(2, 3, 3)
ms("HyperConnectionPostMix", [streams.reshape(2, 12), line, stream_gates, mixing],
   [(np.einsum("rck,rch->rkh", mixing, streams) + stream_gates[..., None] * line[:, None]).reshape(2, 12)], num_branches=3)
hn = rms_norm(streams, grid(12).reshape(3, 4), 1e-5)
low, high, inject = grid(12, 2) * F(0.1), grid(2, 12) * F(0.1), grid(12, 3) * F(0.1)
opened = sigmoid(silu(hn.reshape(2, 12) @ low) @ high).reshape(2, 3, 4)
ms("HyperConnectionLowRankMix", [streams.reshape(2, 12), grid(12), low, high, inject],
   [(hn * opened).sum(1).astype(F), sigmoid(hn.reshape(2, 12) @ inject).astype(F), streams.reshape(2, 12)], num_branches=3)
memory, asked, scale = grid(1, 2, 1, 4) + F(0.1), grid(1, 2, 1, 4)[..., ::-1] * F(-1), np.ones((1, 4), F)
agreed = (rms_norm(memory, scale, 1e-5) * rms_norm(asked, scale, 1e-5)).sum(-1, keepdims=True) / 2
ms("EngramGate", [memory, asked, grid(1, 2, 4), scale, scale],
   [(sigmoid(np.sign(agreed) * np.sqrt(np.maximum(np.abs(agreed), 1e-6))) * grid(1, 2, 1, 4)).astype(F)])
words = np.array([[5, 9, 2]], I)
shifted = np.array([[0, 5, 9]], I)
hashes = (words * 3 ^ shifted * 7)[..., None] % np.array([11, 13], I)
ms("NGramHashMapping", [words, np.array([3, 7], I), np.array([11, 13], I)], [hashes, np.array([[2]], I)], max_ngram_size=2, n_head_per_ngram=2,
   pad_id=0)
ms("VarlenNGramHashMapping", [words[0], np.array([3, 7], I), np.array([11, 13], I), int32([0, 2, 3])],
   [(words * 3 ^ np.array([[0, 5, 0]], I) * 7)[0][:, None] % np.array([11, 13], I), np.array([[9], [2]], I)], max_ngram_size=2,
   n_head_per_ngram=2, pad_id=0)
wide, w = grid(2, 3), grid(3, 5)
first = wide @ w
ms("RouterGateUpProj", [wide.astype(H), w.astype(H)], [first[:, :1].astype(H), (silu(first[:, 1:3]) * first[:, 3:]).astype(H)], router_size=1)

# ---- weights of few bits ----
codes = (np.arange(64) * 7 % 16).astype(np.uint8).reshape(2, 32)
two_codes = (codes[:, ::2] | codes[:, 1::2] << 4).reshape(2, 2, 8)
steps = np.array([[0.5, 0.25], [1, 0.125]], F)
numbers = ((codes.astype(F) - 8).reshape(2, 2, 16) * steps[..., None]).reshape(2, 32)
long_rows = grid(2, 32) * F(0.1)
ms("MatMulNBitsMlp", [long_rows, None, None, two_codes, steps, None, two_codes, steps, F([1, 2])],
   [(silu(long_rows @ numbers.T) * (long_rows @ numbers.T + F([1, 2]))).astype(F)], K=32, N=2, bits=4, block_size=16, activation="silu")
normed = rms_norm(long_rows * 2, grid(32), 1e-6)
ms("MatMulNBitsQkv", [long_rows, long_rows, grid(32), two_codes, steps, None, two_codes, steps, F([1, 2]), two_codes, steps],
   [normed @ numbers.T, normed @ numbers.T + F([1, 2]), normed @ numbers.T, long_rows * 2], K=32, Nq=2, Nkv=2, bits=4, block_size=16)
thin = byte(np.full((2, 1, 8), 0x88))
thin[:, 0, 0] = 0x89, 0xA8  # 1 and 0, 0 and 2
ms("MatMulNBitsQLoRA", [long_rows, two_codes, steps, two_codes, steps, thin, F([[1], [1]])],
   [long_rows @ numbers.T + (long_rows @ numbers.T) * F([1, 2])], K=32, N=2, bits=4, block_size=16, lora_bits=4, lora_block_size=16)
halves = np.array([0.5, -2], H).view(np.uint8).reshape(2, 2)
q4 = np.concatenate([halves, codes[:, :16] | codes[:, 16:] << 4], 1)
q4_numbers = ((codes.astype(F) - 8) * F([[0.5], [-2]]))
q8 = np.concatenate([halves, (codes.astype(np.int8) - 8).view(np.uint8)], 1)
ms("GatherPacked", [q4, np.array([[1, 7]], I)], [q4_numbers[[[1, 0]]]], K=32, packed_type=2, output_dtype=1)
ms("GatherPacked", [q8, np.array([1], I)], [q4_numbers[[1]]], K=32, packed_type=8, output_dtype=1)
unit = np.eye(2, 32, dtype=H)
ms("MatMulPacked", [unit, q4], [q4_numbers[:, :2].T.astype(H)], K=32, N=2, packed_type=2)
E2M1 = F([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
ms("MatMulBlockQuantizedFp4Weight", [unit, two_codes.reshape(2, 16), byte([[0x38, 0x40], [0x38, 0x38]]), F(0.5)],
   [(E2M1[codes] * F(0.5))[:, :2].T.astype(H)])
tiny = np.array([[1, -2] * 16, [0.5, 4] * 16], ml_dtypes.float8_e4m3fn)
ms("MatMulBlockQuantizedFp8Weight", [unit, tiny, F([[2, 1], [4, 1]])], [F([[2, 2], [-4, 16]]).astype(H)], block_size=16)
ms("GemmFloat8", [grid(3, 2), grid(4, 3), None], [np.maximum(F(0.5) * (grid(3, 2).T @ grid(4, 3).T), 0)], transA=1, transB=1, alpha=0.5,
   activation="RELU")

# ---- floats of 4 bits, and powers of two in 8 ----
given = F([0.25, 0.75, -1.25, 5, 100, -0.1, 2.5, 3.5])
for v in (23, 24, 25, 28):
    net("Cast", v, [helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT4E2M1), helper.make_node("Cast", ["c"], ["y"], to=1)],
        {"x": given}, {"y": F([0, 1, -1, 4, 6, -0.0, 2, 4])})
for mode, rounded in (("up", [1, 2, 4, 2.0 ** -127]), ("down", [1, 1, 2, 2.0 ** -127]), ("nearest", [1, 2, 2, 2.0 ** -127])):
    net("Cast", 24, [helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT8E8M0, round_mode=mode),
                     helper.make_node("Cast", ["c"], ["y"], to=1)], {"x": F([1, 1.5, 2.5, 0])}, {"y": F(rounded)})

# ---- sequences that are inputs: as many as the data has ----
pair = [grid(2, 2), grid(3, 2)]
net("SequenceInsert", 11, [helper.make_node("SequenceInsert", ["s", "t"], ["y"])], {"s": pair, "t": grid(1, 2)}, {"y": [*pair, grid(1, 2)]})
net("SequenceLength", 11, [helper.make_node("SequenceLength", ["s"], ["y"])], {"s": pair}, {"y": np.array(2, I)})
net("ConcatFromSequence", 11, [helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)], {"s": pair}, {"y": np.concatenate(pair)})
