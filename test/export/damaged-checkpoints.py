"""Damaged checkpoints and data are rejected by name, or hold what the runner reads of them.

    python damaged-checkpoints.py RUN_PY FOLDER
"""

import importlib.util
import json
import random
import struct
import sys
from pathlib import Path

import numpy as np

spec = importlib.util.spec_from_file_location('run', sys.argv[1])
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

path = Path(sys.argv[2]) / 'checkpoint.safetensors'
wanted = {'a': ('f32', (3, 2)), '__proto__': ('f64', ()), 'b': ('ui8', (5,))}
arrays = {name: (element, np.ones(shape, run.dtype_of(element))) for name, (element, shape) in wanted.items()}
run.write_tensors(path, arrays, {'step': '3'})
whole = path.read_bytes()
length = struct.unpack('<Q', whole[:8])[0]
read, metadata = run.read_tensors(path, wanted)
assert metadata == {'step': '3'} and all(np.array_equal(read[name], arrays[name][1]) for name in wanted)

values = [None, -1, 0, 1, 7, 2 ** 63, 1e300, 'text', [], {}, [[[]]], [0, 24, 24], True]


def damaged(rng):
    choice = rng.randrange(4)
    if choice == 0:
        return whole[:rng.randrange(len(whole))]
    if choice == 1:
        at = rng.randrange(len(whole))
        return whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1:]
    if choice == 2:
        return struct.pack('<Q', rng.choice([0, 1, length - 1, length + 1, len(whole), 2 ** 40, 2 ** 63])) + whole[8:]
    header = json.loads(whole[8:8 + length])
    name = rng.choice(list(header))
    if rng.random() < 0.3:
        header[name] = rng.choice(values)
    elif name != '__metadata__':
        field = rng.choice(['dtype', 'shape', 'data_offsets'])
        header[name][field] = rng.choice(values) if rng.random() < 0.5 else [rng.choice(values), rng.choice(values)]
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + whole[8 + length:]


rejected = 0
for seed in range(600):
    path.write_bytes(damaged(random.Random(seed)))
    try:
        tensors, metadata = run.read_tensors(path, wanted)
        assert isinstance(metadata, dict), seed
        assert all(tensors[name].shape == shape for name, (_, shape) in wanted.items()), seed
    except run.RunError:
        rejected += 1
assert rejected > 300, rejected
print(f'600 damaged files, {rejected} rejected')

data = Path(sys.argv[2]) / 'rows'
data.mkdir()
port = {'name': 'x', 'shape': [4, 3], 'type': 'f32', 'spec': ['data']}
np.save(data / 'x.npy', np.ones((9, 3), 'f4'))
whole = (data / 'x.npy').read_bytes()
rejected = 0
for seed in range(600):
    rng = random.Random(seed)
    damaged = bytearray(whole[:rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
    for _ in range(rng.randrange(4)):
        if damaged:
            # Mostly in the header, which is text.
            damaged[rng.randrange(min(len(damaged), 140))] = rng.randrange(256)
    (data / 'x.npy').write_bytes(damaged)
    try:
        rows = run.Rows(data, port)
        assert rows.read(rows.numbers(1, None)).shape == (4, 3), seed
    except run.RunError:
        rejected += 1
assert rejected > 300, rejected
print(f'600 damaged arrays, {rejected} rejected')
