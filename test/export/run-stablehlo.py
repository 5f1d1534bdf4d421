"""Runs modules of StableHLO in XLA.

    python run-stablehlo.py FOLDER

FOLDER/jobs.json lists jobs: {"name", "inputs": [type, …], "steps", "feeds": [input or null per output], "batches": [inputs that
each step brings anew]}. Inputs are in NAME.npz as i0, i1, …, those of later steps as i0.1, i0.2, …; results go to NAME.out.npz.
"""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jaxlib.mlir.dialects import stablehlo

jax.config.update('jax_enable_x64', True)
jax.config.update('jax_platforms', 'cpu')
folder = Path(sys.argv[1])


def compiled(text, inputs, outputs):
    blob = stablehlo.serialize_portable_artifact_str(text, stablehlo.get_minimum_version())
    dtypes = {'i1': 'bool', 'ui8': 'uint8', 'i32': 'int32', 'f16': 'float16', 'f32': 'float32', 'f64': 'float64', 'bf16': 'bfloat16'}
    shells = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
    shell = jax.jit(lambda *args: [jnp.zeros(o['shape'], dtypes[o['type']]) for o in outputs])
    proto = export.export(shell)(*shells)
    kept = tuple(range(len(inputs)))
    return jax.jit(dataclasses.replace(proto, mlir_module_serialized=blob, module_kept_var_idx=kept).call)


def run(job):
    arrays = np.load(folder / f"{job['name']}.npz")
    values = [jnp.asarray(arrays[f'i{i}']) for i in range(job['inputs'])]
    step = compiled((folder / f"{job['name']}.mlir").read_text(), values, job['outputs'])
    results = {}
    for number in range(job['steps']):
        for i in job['batches'] if number else []:
            values[i] = jnp.asarray(arrays[f'i{i}.{number}'])
        outputs = step(*values)
        for i, (value, facts) in enumerate(zip(outputs, job['outputs'])):
            if facts['feeds'] is not None:
                values[facts['feeds']] = value
            if facts['feeds'] is None or number == job['steps'] - 1:
                value = np.asarray(value)
                if value.dtype.name == 'bfloat16':
                    value = value.astype('float32')
                results[f'o{i}.{number}'] = value
    np.savez(folder / f"{job['name']}.out.npz", **results)


report = {}
for job in json.loads((folder / 'jobs.json').read_text()):
    try:
        run(job)
        report[job['name']] = None
    except Exception as error:  # noqa: BLE001
        report[job['name']] = str(error)[:2000]
(folder / 'report.json').write_text(json.dumps(report))
