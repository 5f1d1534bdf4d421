"""Writes ONNX's own node tests.

    python node-tests.py FOLDER OPERATOR...

For each test of the operators NAME.onnx, and NAME.npz with inputs i0, i1, … and expected outputs o0, o1, …; tests.json lists
them. Models are declared with the newest opset that is imported; node-tests.test.ts names the tests of what came later.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings('ignore')
folder, wanted = Path(sys.argv[1]), set(sys.argv[2:])
newest = 22
tests = []


for case in collect_testcases(None):
    model = case.model
    nodes = model.graph.node
    if case.kind != 'node' or not {node.op_type for node in nodes} <= wanted | {'Constant'}:
        continue
    if any(node.domain for node in nodes):
        continue
    inputs, outputs = ([np.asarray(v) if isinstance(v, np.generic) else v for v in part] for part in case.data_sets[0])
    values = [*inputs, *outputs]
    if not all(isinstance(value, np.ndarray) and value.dtype.kind in 'fiub' for value in values):
        continue
    if any(value.dtype.name in ('float16', 'bfloat16') or value.dtype.name.startswith(('float8', 'int4', 'uint4', 'int2', 'uint2', 'float4')) for value in values):
        continue
    del model.opset_import[1:]
    model.opset_import[0].domain = ''
    model.opset_import[0].version = newest
    arrays = {f'i{i}': np.asarray(value, order='C') for i, value in enumerate(inputs)}
    arrays |= {f'o{i}': np.asarray(value, order='C') for i, value in enumerate(outputs)}
    (folder / f'{case.name}.onnx').write_bytes(model.SerializeToString())
    np.savez(folder / f'{case.name}.npz', **{name: value.astype('float64') for name, value in arrays.items()})
    tests.append({
        'name': case.name,
        'operators': sorted({node.op_type for node in nodes}),
        'types': {name: value.dtype.name for name, value in arrays.items()},
        'shapes': {name: list(value.shape) for name, value in arrays.items()},
        'tolerance': max(case.rtol, case.atol),
    })
(folder / 'tests.json').write_text(json.dumps(tests))
