"""Trains the step of this folder with JAX, on the devices of one host or of many.

    python run.py --steps 1000                           # every device of this host
    python run.py --steps 1000 --platform cpu            # a CPU as the devices of the mesh
    python run.py --steps 1000 --processes 4             # four processes on this host, started again when one dies
    python run.py --steps 1000 --coordinator HOST:PORT --processes 4 --process 2    # one of four hosts
    python run.py --steps 1000 --cluster                 # TPU pods, Slurm, Open MPI: JAX finds the others

Needs jax and numpy. The folder, with its data and checkpoints, has to be the same for all processes.

data/NAME.npy, or data/NAME/*.npy in the order of their names, hold the rows of the argument NAME: step i takes the next
batch of them, and starts over when fewer are left. A run continues from the last checkpoint that it finds.
"""

import argparse
import dataclasses
import json
import math
import operator
import os
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

FORMAT, VERSION = 'tostatic-scale', 1
LONGEST_HEADER = 100_000_000
# Element types of StableHLO: those of NumPy, and of safetensors.
NUMPY = {'i1': 'bool', 'ui8': 'uint8', 'i32': 'int32', 'f16': 'float16', 'bf16': 'bfloat16', 'f32': 'float32', 'f64': 'float64'}
SAFETENSORS = {'i1': 'BOOL', 'ui8': 'U8', 'i32': 'I32', 'f16': 'F16', 'bf16': 'BF16', 'f32': 'F32', 'f64': 'F64'}


class RunError(Exception):
    """Something that the user can mend; printed without a traceback."""


def dtype_of(element):
    if element == 'bf16':
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(NUMPY[element])


# The plan: names and types of inputs and outputs, and how they are split over the mesh.

def is_int(value, low, high=2 ** 53):
    return type(value) is int and low <= value < high


def read_plan(path):
    """The mesh, inputs and outputs of scale.json, every field checked."""
    try:
        plan = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f'{path}: {error}') from None

    def check(holds, where, expected):
        if not holds:
            raise RunError(f'{path}: damaged: {where} is not {expected}')

    check(isinstance(plan, dict), 'it', 'an object')
    if (plan.get('format'), plan.get('version')) != (FORMAT, VERSION):
        raise RunError(f'{path}: not a {FORMAT} file of version {VERSION}')
    mesh, inputs, outputs = (plan.get(key) for key in ('mesh', 'inputs', 'outputs'))
    check(isinstance(mesh, dict) and mesh and all(is_int(size, 1, 2 ** 31) for size in mesh.values()), 'mesh', 'sizes by axis')
    for key, ports in (('inputs', inputs), ('outputs', outputs)):
        check(isinstance(ports, list), key, 'a list')
        for i, port in enumerate(ports):
            where = f'{key}[{i}]'
            check(isinstance(port, dict) and isinstance(port.get('name'), str), where, 'an object with a name')
            check(isinstance(port.get('type'), str) and port['type'] in NUMPY, f'{where}.type', 'a known element type')
            shape = port.get('shape')
            check(isinstance(shape, list) and len(shape) <= 64 and all(is_int(size, 0) for size in shape), f'{where}.shape', 'a list of sizes')
            check(math.prod(max(size, 1) for size in shape) < 2 ** 53, f'{where}.shape', 'a shape that can be counted')
    check(len({port['name'] for port in inputs}) == len(inputs), 'inputs', 'ports with names of their own')
    for i, port in enumerate(inputs):
        where, kind, value, spec = f'inputs[{i}]', port.get('kind'), port.get('value'), port.get('spec')
        check(kind in ('argument', 'state', 'random'), f'{where}.kind', 'argument, state or random')
        # Arguments are found by their names in the folder of data.
        is_file = re.fullmatch(r'(?!.*\.\.)[\w.-]+', port['name'])
        check(kind != 'argument' or is_file, f'{where}.name', 'the name of a file')
        check(kind != 'random' or port['name'] in ('random.seed', 'random.offset'), f'{where}.name', 'random.seed or random.offset')
        is_number = type(value) in (int, float) and kind == 'state' and port['shape'] == []
        check('value' in port and (value is None or is_number), f'{where}.value', 'null, or the number of a state')
        check(isinstance(spec, list) and len(spec) <= len(port['shape']), f'{where}.spec', 'an axis for each dimension at most')
        axes = [axis for axis in spec if axis is not None]
        check(all(isinstance(axis, str) and axis in mesh for axis in axes), f'{where}.spec', 'a list of axes of the mesh')
        check(len(set(axes)) == len(axes), f'{where}.spec', 'a list of different axes')
    for i, port in enumerate(outputs):
        check('feeds' in port, f'outputs[{i}].feeds', 'there')
    fed = [port['feeds'] for port in outputs]
    for i, (port, feeds) in enumerate(zip(outputs, fed)):
        if feeds is None:
            continue
        check(is_int(feeds, 0, len(inputs)) and fed.count(feeds) == 1, f'outputs[{i}].feeds', 'null, or the number of an input of its own')
        same = all(port[key] == inputs[feeds][key] for key in ('type', 'shape'))
        check(same and inputs[feeds]['kind'] != 'argument', f'outputs[{i}].feeds', 'a state of the same type and shape')
    return mesh, inputs, outputs


# Safetensors: the length of a header, the header as JSON, data.

def read_tensors(path, expected):
    """The tensors of `expected`, {name: (element type, shape)}, and the texts of `__metadata__`."""
    with open(path, 'rb') as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = struct.unpack('<Q', start)[0] if len(start) == 8 else size
        if length > min(size - 8, LONGEST_HEADER):
            raise RunError(f'{path}: damaged: its header is longer than the file')
        try:
            header = json.loads(file.read(length))
            metadata = dict(header.pop('__metadata__', {}))
            entries = {name: (e['dtype'], list(e['shape']), *map(operator.index, e['data_offsets'])) for name, e in header.items()}
            spans = sorted((start, end) for _, _, start, end in entries.values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RunError(f'{path}: damaged: its header does not list tensors ({error})') from None
        at = 0
        for start, end in spans:
            if start != at or end < start:
                raise RunError(f'{path}: damaged: its tensors overlap, or leave holes')
            at = end
        if 8 + length + at != size:
            raise RunError(f'{path}: damaged: {size} bytes instead of {8 + length + at}')
        tensors = {}
        for name, (element, shape) in expected.items():
            if name not in entries:
                raise RunError(f'{path}: no tensor {name}')
            kind, found, start, end = entries[name]
            if (kind, found) != (SAFETENSORS[element], list(shape)):
                raise RunError(f'{path}: {name} is {kind} {found}, not {SAFETENSORS[element]} {list(shape)}')
            dtype = dtype_of(element)
            if end - start != math.prod(shape) * dtype.itemsize:
                raise RunError(f'{path}: damaged: {name} has {end - start} bytes')
            file.seek(8 + length + start)
            tensors[name] = np.frombuffer(file.read(end - start), dtype).reshape(shape)
        return tensors, metadata


def write_tensors(path, tensors, metadata):
    """`tensors`: {name: (element type, array)}. The file is complete or not there, whenever the process dies."""
    header, at = {'__metadata__': metadata}, 0
    for name, (element, array) in tensors.items():
        header[name] = {'dtype': SAFETENSORS[element], 'shape': list(array.shape), 'data_offsets': [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    unfinished = path.with_suffix('.unfinished')
    with open(unfinished, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for _, array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


# Data: rows in .npy files.

class Rows:
    """The rows of one argument, in files that are mapped rather than read."""

    def __init__(self, folder, port):
        self.name, self.shape, self.dtype = port['name'], tuple(port['shape']), dtype_of(port['type'])
        self.batch = self.shape[0] if self.shape else 1
        self.shuffles = port['spec'][:1] == ['data']
        one, many = folder / f'{self.name}.npy', folder / self.name
        paths = [one] if one.exists() else sorted(many.glob('*.npy'))
        if not paths:
            raise RunError(f'no data for {self.name}: there is neither {one} nor {many}/*.npy')
        self.files = [self.open(path) for path in paths]
        self.starts = np.cumsum([0] + [len(file) for file in self.files])
        self.steps = int(self.starts[-1]) // self.batch
        if self.steps == 0:
            raise RunError(f'{self.name}: {self.starts[-1]} rows, fewer than the {self.batch} of one step')

    def open(self, path):
        try:
            array = np.load(path, mmap_mode='r', allow_pickle=False)
        except Exception as error:  # NumPy's parser of headers throws of many kinds.
            raise RunError(f'{path}: not a NumPy array ({error})') from None
        if not isinstance(array, np.ndarray):
            raise RunError(f'{path}: an archive, not a NumPy array')
        row = self.shape[1:]
        halves = self.dtype.itemsize == 2 and array.dtype == np.float32
        if array.ndim == 0 or array.shape[1:] != row or (array.dtype != self.dtype and not halves):
            expected = ', '.join(['rows', *map(str, row)])
            raise RunError(f'{path}: {array.dtype} {list(array.shape)}, not {self.dtype} [{expected}]')
        return array

    def numbers(self, step, seed):
        """Numbers of the rows of a step."""
        epoch, at = divmod(step, self.steps)
        own = np.arange(at * self.batch, (at + 1) * self.batch)
        if seed is None or not self.shuffles:
            return own
        return np.random.default_rng([seed, epoch]).permutation(int(self.starts[-1]))[own]

    def read(self, numbers):
        rows = np.empty((len(numbers), *self.shape[1:]), self.dtype)
        of = np.searchsorted(self.starts, numbers, side='right') - 1
        for i in np.unique(of):
            rows[of == i] = self.files[i][numbers[of == i] - self.starts[i]]
        return rows


# The program.

class Trainer:
    def __init__(self, folder, args):
        import jax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        self.jax, self.folder, self.args = jax, folder, args
        mesh, self.inputs, self.outputs = read_plan(folder / 'scale.json')
        sizes = {axis: args.mesh.get(axis, size) for axis, size in mesh.items()}
        unknown = set(args.mesh) - set(sizes)
        if unknown:
            raise RunError(f'--mesh: no axis {", ".join(sorted(unknown))}; the folder has {", ".join(sizes)}')
        for port in self.inputs:
            for size, axis in zip(port['shape'], port['spec']):
                if axis and size % sizes[axis]:
                    raise RunError(f'{port["name"]}: {size} can not be split over {axis}={sizes[axis]}')
        count = math.prod(sizes.values())
        local = count // args.processes
        jax.config.update('jax_enable_x64', True)
        jax.config.update('jax_num_cpu_devices', max(local, 1))
        if args.platform:
            jax.config.update('jax_platforms', args.platform)
        if args.cluster:
            jax.distributed.initialize()
        elif args.processes > 1:
            jax.config.update('jax_cpu_collectives_implementation', 'gloo')
            jax.distributed.initialize(args.coordinator, args.processes, args.process)
        self.is_first = jax.process_index() == 0
        devices = jax.devices()
        if len(devices) < count:
            raise RunError(f'the mesh has {count} devices, but JAX finds {len(devices)} ({devices[0].platform})')
        self.mesh = Mesh(np.array(devices[:count]).reshape(tuple(sizes.values())), tuple(sizes))
        sharding = lambda spec: NamedSharding(self.mesh, PartitionSpec(*spec))
        self.shardings = [sharding(port['spec']) for port in self.inputs]
        self.fed = [i for i in (port['feeds'] for port in self.outputs) if i is not None]
        self.results = [sharding([]) if o['feeds'] is None else self.shardings[o['feeds']] for o in self.outputs]
        self.rows = {i: Rows(folder / 'data', port) for i, port in enumerate(self.inputs) if port['kind'] == 'argument'}

    def compile(self, values):
        from jax import export
        from jaxlib.mlir.dialects import stablehlo
        jax, jnp = self.jax, self.jax.numpy
        text = (self.folder / 'step.mlir').read_text()
        blob = stablehlo.serialize_portable_artifact_str(text, stablehlo.get_minimum_version())
        shell = jax.jit(lambda *_: [jnp.zeros(o['shape'], dtype_of(o['type'])) for o in self.outputs])
        shapes = [jax.ShapeDtypeStruct(p['shape'], dtype_of(p['type'])) for p in self.inputs]
        proto = export.export(shell)(*shapes)
        kept = tuple(range(len(shapes)))
        call = dataclasses.replace(proto, mlir_module_serialized=blob, module_kept_var_idx=kept).call
        jitted = jax.jit(call, in_shardings=tuple(self.shardings), out_shardings=self.results, donate_argnums=tuple(self.fed))
        compiled = jitted.lower(*values).compile()
        text = compiled.as_text()
        if self.args.compiled and self.is_first:
            Path(self.args.compiled).write_text(text)
        names = ('all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all', 'collective-permute')
        self.collectives = {name: len(re.findall(rf' {name}(?:-start)?\(', text)) for name in names}
        return compiled

    def array(self, i, read):
        """Input `i` on the devices of this process. `read(index)`: the part of it that a device has."""
        return self.jax.make_array_from_callback(tuple(self.inputs[i]['shape']), self.shardings[i], read)

    def batch(self, values, step):
        for i, rows in self.rows.items():
            numbers = rows.numbers(step, self.args.shuffle)
            if rows.shape:
                values[i] = self.array(i, lambda index: rows.read(numbers[index[0]])[(slice(None), *index[1:])])
            else:
                values[i] = self.array(i, lambda _: rows.read(numbers)[0])

    # Checkpoints.

    @property
    def checkpoints(self):
        return self.folder / 'checkpoints'

    def last_checkpoint(self):
        """The step of the last checkpoint, as the first process sees it; 0 without one."""
        found = [int(path.stem) for path in self.checkpoints.glob('*.safetensors') if path.stem.isdigit()]
        step = max(found, default=0)
        if self.jax.process_count() > 1:
            from jax.experimental import multihost_utils
            step = int(multihost_utils.broadcast_one_to_all(np.int32(step)))
        return step

    def path_of(self, step):
        return self.checkpoints / f'{step:09}.safetensors'

    def first_values(self, step):
        held = {p['name']: (p['type'], tuple(p['shape'])) for p in self.inputs if p['kind'] != 'argument'}
        if step:
            path = self.path_of(step)
            if not path.exists():
                raise RunError(f'{path}: not there, though the first process has it; all processes need the same folder')
            tensors, metadata = read_tensors(path, held)
            if metadata.get('step') != str(step):
                raise RunError(f'{path}: damaged: it does not say that it is of step {step}')
            return tensors
        random = {'random.seed': self.args.seed, 'random.offset': 0}
        numbers = {p['name']: p['value'] for p in self.inputs if p['value'] is not None}
        numbers.update({p['name']: random[p['name']] for p in self.inputs if p['kind'] == 'random'})
        tensors, _ = read_tensors(self.folder / 'state.safetensors', {n: t for n, t in held.items() if n not in numbers})
        return tensors | {name: np.asarray(value, dtype_of(held[name][0])) for name, value in numbers.items()}

    def save(self, values, step):
        tensors = {}
        for port, value in zip(self.inputs, values):
            if port['kind'] == 'argument':
                continue
            if not (value.is_fully_addressable or value.is_fully_replicated):
                from jax.experimental import multihost_utils
                value = multihost_utils.process_allgather(value, tiled=True)
            tensors[port['name']] = (port['type'], np.asarray(value))
        if not self.is_first:
            return
        self.checkpoints.mkdir(exist_ok=True)
        write_tensors(self.path_of(step), tensors, {'format': FORMAT, 'step': str(step)})
        for path in sorted(self.checkpoints.glob('*.safetensors'))[:-self.args.keep]:
            path.unlink()

    # Training.

    def train(self):
        start = self.last_checkpoint()
        values = [None] * len(self.inputs)
        held = self.first_values(start)
        for i, port in enumerate(self.inputs):
            if port['kind'] != 'argument':
                values[i] = self.array(i, held[port['name']].__getitem__)
        if start >= self.args.steps:
            return self.say(f'{start} steps are done')
        self.batch(values, start)
        step = self.compile(values)
        log = self.open_log(start)
        used = ', '.join(f'{count} {name}' for name, count in self.collectives.items() if count) or 'no collectives'
        mesh = ', '.join(f'{axis}={size}' for axis, size in self.mesh.shape.items())
        self.say(f'mesh {mesh}; {self.jax.process_count()} processes; {used}; from step {start}')
        began = time.monotonic()
        for number in range(start, self.args.steps):
            outputs = step(*values)
            for port, value in zip(self.outputs, outputs):
                if port['feeds'] is not None:
                    values[port['feeds']] = value
            # While the devices work.
            if number + 1 < self.args.steps:
                self.batch(values, number + 1)
            self.log(log, number + 1, outputs, began)
            if (number + 1) % self.args.checkpoint_every == 0 or number + 1 == self.args.steps:
                self.save(values, number + 1)

    def open_log(self, start):
        """The log without the steps after the checkpoint, which are done again."""
        if not self.is_first:
            return None
        path = self.folder / 'log.jsonl'
        lines = path.read_text().splitlines() if path.exists() else []
        kept = []
        for line in lines:
            try:
                kept += [line + '\n'] if json.loads(line)['step'] <= start else []
            except (ValueError, KeyError, TypeError):
                break  # The line that a dying process began.
        path.write_text(''.join(kept))
        return open(path, 'a', buffering=1)

    def log(self, log, step, outputs, began):
        if log is None or (step % self.args.log_every and step != self.args.steps):
            return
        scalars = {port['name']: float(value) for port, value in zip(self.outputs, outputs) if port['feeds'] is None and not port['shape']}
        log.write(json.dumps({'step': step, 'seconds': round(time.monotonic() - began, 3), **scalars}) + '\n')
        self.say(f'step {step}/{self.args.steps}  ' + '  '.join(f'{name} {value:.6g}' for name, value in scalars.items()))

    def say(self, text):
        if self.is_first:
            print(text, flush=True)


def supervise(args):
    """Runs the processes of this host; when one dies, ends the others, and starts all from the last checkpoint."""
    for left in range(args.restarts, -1, -1):
        with socket.socket() as found:
            found.bind(('127.0.0.1', 0))
            address = f'127.0.0.1:{found.getsockname()[1]}'
        command = [sys.executable, __file__, *sys.argv[1:], '--coordinator', address]
        children = [subprocess.Popen([*command, '--process', str(i)]) for i in range(args.processes)]
        print('processes ' + ' '.join(str(child.pid) for child in children), flush=True)
        try:
            while True:
                codes = [child.poll() for child in children]
                if any(codes) or None not in codes:
                    break
                time.sleep(0.1)
        finally:
            for child in children:
                if child.poll() is None:
                    child.kill()
                child.wait()
        if not any(codes):
            return 0
        dead = next(i for i, code in enumerate(codes) if code)
        print(f'process {dead} ended with {codes[dead]}; {left} restarts left', flush=True)
    return 1


def sizes_of(text):
    return {axis: int(size) for axis, size in (part.split('=') for part in text.split(','))}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--steps', type=int, required=True, help='steps in all, those of earlier runs included')
    parser.add_argument('--checkpoint-every', type=int, default=100)
    parser.add_argument('--keep', type=int, default=3, help='checkpoints that are kept')
    parser.add_argument('--log-every', type=int, default=1)
    parser.add_argument('--seed', type=int, default=0, help='of random numbers in the step, such as dropout')
    parser.add_argument('--shuffle', type=int, metavar='SEED', help='shuffles rows in every epoch')
    parser.add_argument('--mesh', type=sizes_of, default={}, help='other sizes than those of the folder: data=8')
    parser.add_argument('--platform', help='cpu, gpu or tpu; by default what JAX finds')
    parser.add_argument('--compiled', metavar='FILE', help='writes the program as XLA has partitioned it')
    parser.add_argument('--processes', type=int, default=1)
    parser.add_argument('--process', type=int, help='number of this process')
    parser.add_argument('--coordinator', metavar='HOST:PORT', help='address of process 0')
    parser.add_argument('--cluster', action='store_true', help='JAX finds the other processes')
    parser.add_argument('--restarts', type=int, default=3, help='how often processes of this host are started again')
    args = parser.parse_args()
    for name in ('steps', 'checkpoint_every', 'keep', 'log_every', 'processes'):
        if getattr(args, name) < 1:
            parser.error(f'--{name.replace("_", "-")} is at least 1')
    if args.process is not None and not args.coordinator:
        parser.error('--process needs --coordinator')
    return args


def main():
    args = parse()
    if args.processes > 1 and args.process is None and not args.cluster:
        return supervise(args)
    try:
        Trainer(Path(__file__).resolve().parent, args).train()
        return 0
    except RunError as error:
        print(f'run.py: {error}', file=sys.stderr, flush=True)
        return 2


if __name__ == '__main__':
    sys.exit(main())
