"""Checks models with onnx and runs them with onnxruntime.

    python run-onnx.py FOLDER

FOLDER/jobs.json lists jobs: {"name", "inputs": [names], "feeds": [input or null per output], "outputs": [names], "steps",
"batches": [numbers of inputs that each step brings anew]}. The model is NAME.onnx; inputs are in NAME.npz as i0, i1, …, those of
later steps as i0.1, i0.2, …; results go to NAME.out.npz.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

folder = Path(sys.argv[1])


def readable(path):
    """numpy has no bfloat16: such outputs are cast to float32."""
    model = onnx.load(path, load_external_data=False)
    halves = [out for out in model.graph.output if out.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16]
    for out in halves:
        node = next(node for node in model.graph.node if out.name in node.output)
        node.output[0] = f'{out.name}.bfloat16'
        model.graph.node.append(onnx.helper.make_node('Cast', [node.output[0]], [out.name], to=onnx.TensorProto.FLOAT))
        out.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    if not halves:
        return path
    onnx.save(model, path.replace('.onnx', '.cast.onnx'))
    return path.replace('.onnx', '.cast.onnx')


def run(job):
    path = str(folder / f"{job['name']}.onnx")
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    path = readable(path)
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    arrays = np.load(folder / f"{job['name']}.npz")
    values = [arrays[f'i{i}'] for i in range(len(job['inputs']))]
    # Tensors of ours have no int64.
    for given in session.get_inputs():
        if given.type == 'tensor(int64)':
            i = job['inputs'].index(given.name)
            values[i] = values[i].astype('int64')
    results = {}
    for number in range(job['steps']):
        for i in job['batches'] if number else []:
            values[i] = arrays[f'i{i}.{number}']
        outputs = session.run(job['outputs'], dict(zip(job['inputs'], values)))
        for i, (value, feeds) in enumerate(zip(outputs, job['feeds'])):
            if feeds is not None:
                values[job['inputs'].index(feeds)] = value
            if feeds is None or number == job['steps'] - 1:
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
