import { OutOfMemoryError } from '../../errors/errors.ts';
import { InvariantError } from '../../errors/invariant.ts';
import { type Allocator, BestFitAllocator } from '../../memory/allocator.ts';
import { events } from '../../memory/events.ts';
import { poisonByte } from '../../memory/poison.ts';
import { fixNumerics } from '../../numerics/math.ts';
import { copying } from '../../profiler/copying.ts';
import { type DType, dtypes, newTypedArray, type TypedArray } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import { registerDevice } from '../current.ts';
import type { Device, Launch, Operand } from '../device.ts';
import { innerBytes } from '../inner-bytes.ts';
import type { Attrs, KernelFactory, KernelOp, NamedKernel } from '../kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../tensor-meta.ts';
import { transferLaunch } from '../transfer/transfer-launch.ts';
import { heap } from './core/heap.ts';
import { indexOf } from './core/kernel.ts';
import { collapse, walk } from './core/loops.ts';
import { fillBytes } from './movement/bytes.ts';
import { pointwise } from './pointwise/pointwise.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { asFloat32, inFloat32, wideningBytes, widens } from './widening.ts';

function kernelOf(
  op: KernelOp,
  { name, onCpu }: NamedKernel,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  device: Device,
): KernelFactory {
  return widens(name, inputs, outputs) ? inFloat32(op, onCpu, device) : onCpu;
}

/**
 * Tensors in one WebAssembly memory; a launch returns when its kernel has run, possibly on several threads. CPU
 * devices with other names have separate tensors and statistics in the same memory.
 */
export class CpuDevice implements Device {
  readonly name: string;
  readonly kind = 'cpu';
  readonly allocator: Allocator;
  readonly sumsInBlocks = hasSimd;
  readonly typedElements = true;
  readonly overwritesOperands = true;
  readonly fusesPointwise = true;
  readonly mostFusedBuffers = Infinity;
  readonly mostTileColumns = 0;
  readonly innerBytes = hasSimd ? innerBytes : 0;

  constructor(name: string) {
    this.name = name;
    this.allocator = new BestFitAllocator(name, heap);
  }

  elementBytes(dtype: DType): number {
    return dtypes[dtype].bytes;
  }

  prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): Launch {
    fixNumerics();
    const { kernel } = op;
    switch (kernel.kind) {
      case 'pointwise':
        return pointwise(kernel.expr, inputs, outputs[0]!, attrs);
      case 'fused':
        return kernel.onCpu(kernel.body, inputs, outputs, attrs, this);
      case 'list':
        return kernel.onCpu(kernel.body, inputs, outputs, attrs, this);
      case 'staged':
        return kernel.onCpu(kernel.body, inputs, outputs, attrs, this);
      case 'named':
        return kernelOf(op, kernel, inputs, outputs, this)(inputs, outputs, attrs);
      case 'user':
        return kernel.kernel.onCpu(kernel.kernel.code, inputs, outputs[0]!);
      case 'transfer':
        return transferLaunch(inputs[0]!, outputs[0]!);
      case 'onCpu':
        return this.prepare(kernel.op, inputs, outputs, attrs);
      case 'tiled':
        throw new InvariantError(`${op.name}: attention by tiles is made for GPUs alone`);
      case 'view':
      case 'control':
        throw new InvariantError(`${op.name} is a ${kernel.kind} op: it has no kernel`);
    }
  }

  /**
   * Most kernels pack into a fixed region outside the tensors; half-precision operands are widened into new memory.
   */
  scratchBytes(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): number {
    const { kernel } = op;
    if (kernel.kind !== 'named') return 0;
    const isWidened = widens(kernel.name, inputs, outputs);
    const scratchBytes =
      kernel.scratchOnCpu?.(isWidened ? inputs.map(asFloat32) : inputs, attrs) ?? 0;
    return isWidened ? scratchBytes + wideningBytes(op, inputs, outputs) : scratchBytes;
  }

  upload(data: TypedArray, meta: TensorMeta, target: Operand): void {
    events.copy('host', this.name, data.byteLength);
    const write = () => heap.view(meta.dtype).set(data, indexOf(target, meta.dtype));
    if (data.length > 0) copying('host', this.name, data.byteLength, write);
  }

  poison(ptr: number, bytes: number): void {
    if (bytes > 0) fillBytes(ptr, bytes, poisonByte);
  }

  async download(meta: TensorMeta, source: Operand): Promise<TypedArray> {
    const read = source.holder!.elsewhere?.read?.(meta, source.offset);
    return read ?? this.downloadSync(meta, source);
  }

  downloadSync(meta: TensorMeta, source: Operand): TypedArray {
    const size = sizeOf(meta.shape);
    if (size === 0) return newTypedArray(meta.dtype, 0);
    const bytes = size * this.elementBytes(meta.dtype);
    events.copy(this.name, 'host', bytes);
    return copying(this.name, 'host', bytes, () => this.#read(meta, source, size));
  }

  #read(meta: TensorMeta, source: Operand, size: number): TypedArray {
    const view = heap.view(meta.dtype);
    const from = indexOf(source, meta.dtype);
    if (isContiguousMeta(meta)) return view.slice(from, from + size);
    const result = copyTarget(meta, size);
    const at = [from];
    let to = 0;
    walk(collapse(meta.shape, [meta.strides]), at, () => {
      result[to++] = view[at[0]!]!;
    });
    return result;
  }
}

/** The maximum bytes of a tensor on this device; an expanded view has more elements than its memory. */
const mostBytes = 2 ** 32;

function copyTarget({ dtype, shape }: TensorMeta, size: number): TypedArray {
  if (size * dtypes[dtype].bytes <= mostBytes) return newTypedArray(dtype, size);
  throw new OutOfMemoryError({
    what: 'cpu: an expanded view is too large to be read',
    given: `${dtype} [${shape.join(', ')}]`,
    expected: `at most ${mostBytes} bytes`,
    remedy: 'read a part of it, or the tensor that was expanded',
  });
}

export const cpu: Device = new CpuDevice('cpu');

registerDevice(cpu);
