# SPDX-License-Identifier: Apache-2.0
"""Judges a visit of the demo page: demo.py ANGLE RESULT.json PICTURE.png."""
import json
import pathlib
import sys
import zlib

import numpy as np


def pixels(path):
    """An 8-bit PNG as an array: what a browser writes, without interlacing."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, parts, head = 8, [], b""
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            head = body
        elif kind == b"IDAT":
            parts.append(body)
    width, height = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    assert head[8] == 8 and head[9] in (2, 6) and head[12] == 0, f"another kind of PNG: {head[8:]}"
    channels = 3 if head[9] == 2 else 4
    raw = np.frombuffer(zlib.decompress(b"".join(parts)), np.uint8).reshape(height, 1 + width * channels)
    rows = np.zeros((height, width, channels), np.int64)
    for y, line in enumerate(raw):
        now = line[1:].astype(np.int64).reshape(width, channels)
        above = rows[y - 1] if y else np.zeros_like(now)
        if line[0] == 1:
            now = np.cumsum(now, axis=0)
        elif line[0] == 2:
            now = now + above
        elif line[0] in (3, 4):  # average and Paeth look at the pixel before
            left, corner = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
            for x in range(width):
                up = above[x]
                if line[0] == 3:
                    guess = (left + up) // 2
                else:
                    base = left + up - corner
                    a, b, c = abs(base - left), abs(base - up), abs(base - corner)
                    guess = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
                left = now[x] = (now[x] + guess) % 256
                corner = up
        rows[y] = now % 256
    return rows[..., :3]


angle, result, picture = int(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text()), pixels(sys.argv[3])
upright, turned = result["upright"], result["turned"]
assert abs(upright + turned - 1) < 1e-5, result
assert (turned if angle == 180 else upright) > 0.9, result
# The sheet is white with dark letters on it; below, the bar of the answer is drawn in a colour.
height, width, _ = picture.shape
assert width >= 800 and height >= 600, picture.shape
white = (picture.min(axis=2) > 250).mean()
dark = (picture.max(axis=2) < 70).mean()
below = picture[height * 3 // 4:]
coloured = (below.max(axis=2) - below.min(axis=2) > 40).mean()
print(f"upright {upright:.4f}, turned {turned:.4f}; white {white:.3f}, dark {dark:.4f}, coloured {coloured:.4f}")
assert 0.05 < white < 0.9 and dark > 0.003 and coloured > 0.012
