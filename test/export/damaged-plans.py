"""Damaged plans of the runner are rejected by name, or hold what it reads of them. Needs Python alone.

    python damaged-plans.py RUN_PY FOLDER PLAN
"""

import importlib.util
import json
import random
import sys
import types
from pathlib import Path

# The runner imports it for data, which no plan holds.
sys.modules['numpy'] = types.ModuleType('numpy')
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location('run', sys.argv[1])
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

plan = Path(sys.argv[3]).read_text()
path = Path(sys.argv[2]) / 'scale.json'
values = [None, -1, 0, 1, 7, 2 ** 63, 1e300, 'text', [], {}, [[[]]], [0, 24, 24], True]
names = ['', '../x', 'a/b', '__proto__', 'random.seed', 'data', 'f32', 'argument', 'state']
values += [*names, -(2 ** 31), 1.5, float('nan'), ['data'], [None, 'data'], ['data', 'data'], [2 ** 40, 2 ** 40], {'data': 0}]


def places(value):
    """All containers inside, with their keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from places(item)


rejected = 0
for seed in range(2000):
    rng = random.Random(seed)
    damaged = json.loads(plan)
    for _ in range(rng.randrange(1, 3)):
        container, key = rng.choice(list(places(damaged)))
        if rng.random() < 0.2:
            del container[key]
        else:
            container[key] = rng.choice(values)
    text = json.dumps(damaged)
    path.write_text(text[:rng.randrange(len(text))] if rng.random() < 0.1 else text)
    try:
        mesh, inputs, outputs = run.read_plan(path)
        for port in [*inputs, *outputs]:
            assert port['type'] in run.NUMPY, seed
            assert all(type(size) is int and size >= 0 for size in port['shape']), seed
        for port in inputs:
            assert all(axis is None or mesh[axis] >= 1 for axis in port['spec']), seed
            assert port['kind'] != 'argument' or '/' not in port['name'], seed
            assert port['value'] is None or port['shape'] == [], seed
        assert all(port['feeds'] is None or inputs[port['feeds']]['shape'] == port['shape'] for port in outputs), seed
    except run.RunError:
        rejected += 1
assert rejected > 1000, rejected
print(f'2000 damaged plans, {rejected} rejected')
