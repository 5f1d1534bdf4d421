import { userPosition, withPositionProvider } from '../../errors/position.ts';
import { alignedBytes } from '../../memory/allocator.ts';
import { events } from '../../memory/events.ts';
import type { TypedArray } from '../../spec/dtype.ts';
import { sameShape, sizeOf } from '../../spec/shape.ts';
import { traceStream } from '../../trace-log/stream.ts';
import { deviceNamed } from '../current.ts';
import type { Device, Launch, Operand } from '../device.ts';
import { Holder } from '../holder.ts';
import { type Attrs, type KernelOp, operandUse, userName } from '../kernel-op.ts';
import { contiguousMeta, isContiguousMeta, type TensorMeta } from '../tensor-meta.ts';
import type { BufferHandle, CheckedHandle } from './core/buffer-pool.ts';
import type { DeviceCore, Place, WordSpan } from './core/device-core.ts';
import {
  type ElementSpan,
  type ElementStorage,
  spanOf,
  type Words,
} from './core/element-storage.ts';
import type { Prepared } from './prepared-kernel.ts';

/** A kernel that copies elements from one layout to another. */
type CopyKernel<H extends CheckedHandle = BufferHandle> = (
  from: TensorMeta,
  to: TensorMeta,
) => Prepared<H>;

/** One copy to the CPU. */
interface Transfer {
  readonly meta: TensorMeta;
  readonly operand: Operand;
}

/**
 * An op on GPU tensors that the CPU computes, like Paddle's data transform: operands are copied to the CPU, the kernel
 * runs there, and results are copied back. Operands whose shape alone is read are not copied, and operands that are the
 * same tensor share a buffer. For an in-place op, the written buffer is copied back to the target's elements only. CPU
 * copies are freed before any later issued work runs.
 */
export class HostOp<H extends CheckedHandle = BufferHandle> {
  readonly #op: KernelOp;
  readonly #core: DeviceCore<H>;
  readonly #inputs: readonly TensorMeta[];
  readonly #outputs: readonly TensorMeta[];
  readonly #storage: ElementStorage;
  readonly #copyKernel: CopyKernel<H>;

  constructor(
    op: KernelOp,
    core: DeviceCore<H>,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    storage: ElementStorage,
    copyKernel: CopyKernel<H>,
  ) {
    this.#op = op;
    this.#core = core;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#storage = storage;
    this.#copyKernel = copyKernel;
  }

  /**
   * Strided operands are packed on the GPU before reading, and strided results unpacked there. Results whose elements
   * share words are unpacked, too, because JavaScript writes whole words.
   */
  scratchBytes(): number {
    const read = this.#inputs.filter((_, i) => this.#isRead(i));
    const sizes = [
      ...read.map((meta) => this.#packedBytes(meta)),
      ...this.#outputs.map((meta) => this.#spreadBytes(meta)),
    ];
    return sizes.reduce((sum, bytes) => sum + alignedBytes(bytes), 0);
  }

  /** Returns the bytes of an operand's packed copy; 0 if it is read directly. */
  #packedBytes(meta: TensorMeta): number {
    return isContiguousMeta(meta) ? 0 : this.#bytesOf(meta);
  }

  #spreadBytes(meta: TensorMeta): number {
    const areWords = this.#storage.bytesOf(meta.dtype) === 4;
    return isContiguousMeta(meta) && areWords ? 0 : this.#bytesOf(meta);
  }

  #bytesOf({ dtype, shape }: TensorMeta): number {
    return sizeOf(shape) * this.#storage.bytesOf(dtype);
  }

  bind(attrs: Attrs): Launch {
    return (inputs, outputs, now = attrs) => this.#issue(inputs, outputs, now);
  }

  #isRead(input: number): boolean {
    return operandUse(this.#op, input) === 'data' && sizeOf(this.#inputs[input]!.shape) > 0;
  }

  #issue(inputs: readonly Operand[], outputs: readonly Operand[], attrs: Attrs): void {
    const transfers: Transfer[] = [];
    /** The transfer of each input, or −1. */
    const slots = inputs.map((operand, i) => {
      if (!this.#isRead(i)) return -1;
      const meta = this.#inputs[i]!;
      const known = transfers.findIndex((other) => isSame(other, { meta, operand }));
      return known >= 0 ? known : transfers.push({ meta, operand }) - 1;
    });
    const packed = transfers.map(({ meta }) => this.#packedBytes(meta));
    const spread = this.#outputs.map((meta) => this.#spreadBytes(meta));
    const sizes = [...packed, ...spread].filter((size) => size > 0);
    const at = userPosition();
    this.#core.withScratch(sizes, (scratch) => {
      let next = 0;
      const reads = transfers.map(({ meta, operand }, i): WordSpan<H> & ElementSpan => {
        const place = this.#core.place(operand, this.#op.name);
        const [count, bytes] = [sizeOf(meta.shape), this.#storage.bytesOf(meta.dtype)];
        if (packed[i] === 0) return { buffer: place.buffer, ...spanOf(place.offset, count, bytes) };
        const target = { buffer: scratch[next++]!, offset: 0 };
        copyBetween(this.#copyKernel(meta, contiguousMeta(meta, meta.device)), place, target);
        return { buffer: target.buffer, ...spanOf(0, count, bytes) };
      });
      const targets = outputs.map((operand) => this.#core.place(operand, this.#op.name));
      const writes = targets.map((place, i) =>
        spread[i] === 0 ? place : { buffer: scratch[next++]!, offset: 0 },
      );
      this.#core.computeOnHost({
        op: this.#op.name,
        reads,
        writes: writes.map(({ buffer, offset }) => ({ buffer, first: offset })),
        compute: (values) =>
          withPositionProvider(
            () => at,
            () => {
              const outer = events.op;
              events.op = this.#op.name;
              try {
                const data = transfers.map(({ meta: { dtype, shape } }, i) =>
                  this.#storage.fromWords(values[i]!, dtype, sizeOf(shape), reads[i]!.skipped),
                );
                return this.#onCpu(data, transfers, slots, attrs);
              } finally {
                events.op = outer;
              }
            },
          ),
      });
      targets.forEach((place, i) => {
        const meta = this.#outputs[i]!;
        if (spread[i] === 0) return;
        copyBetween(this.#copyKernel(contiguousMeta(meta, meta.device), meta), writes[i]!, place);
      });
    });
  }

  #onCpu(
    values: readonly TypedArray[],
    transfers: readonly Transfer[],
    slots: readonly number[],
    attrs: Attrs,
  ): Words[] {
    const cpu = deviceNamed('cpu');
    const holders: Holder[] = [];
    const hold = (meta: TensorMeta): Operand => {
      const holder = new Holder(cpu, sizeOf(meta.shape) * cpu.elementBytes(meta.dtype));
      holders.push(holder);
      return { holder, offset: 0 };
    };
    try {
      const copies = transfers.map(({ meta }, i) => {
        const operand = hold(meta);
        if (traceStream.active) traceStream.transform(userName(this.#op), meta, onCpu(meta, cpu));
        cpu.upload(values[i]!, onCpu(meta, cpu), operand);
        return operand;
      });
      const inputs = slots.map((slot, i) => {
        if (slot >= 0) return copies[slot]!;
        return operandUse(this.#op, i) === 'data' ? hold(this.#inputs[i]!) : nothing;
      });
      // An in-place write goes to the copy of its target, which is then copied back.
      const outputs = this.#outputs.map((meta) => (this.#op.inPlace ? inputs[0]! : hold(meta)));
      const inputMetas = this.#inputs.map((meta) => onCpu(meta, cpu));
      const outputMetas = this.#outputs.map((meta) => onCpu(meta, cpu));
      cpu.prepare(this.#op, inputMetas, outputMetas, attrs)(inputs, outputs, attrs);
      if (traceStream.active) this.#traceResults(outputMetas);
      return outputMetas.map((meta, i) =>
        this.#storage.toWords(cpu.downloadSync(meta, outputs[i]!), meta.dtype),
      );
    } finally {
      for (const holder of holders) holder.release();
    }
  }

  #traceResults(results: readonly TensorMeta[]): void {
    results.forEach((meta, i) => {
      traceStream.transform(userName(this.#op), meta, this.#outputs[i]!);
    });
  }
}

const nothing: Operand = { holder: null, offset: 0 };

const onCpu = (meta: TensorMeta, cpu: Device): TensorMeta => contiguousMeta(meta, cpu);

function copyBetween<H extends CheckedHandle>(
  kernel: Prepared<H>,
  from: Place<H>,
  to: Place<H>,
): void {
  kernel.run((slot) => (slot.kind === 'input' ? from : to), {});
}

/**
 * Whether two transfers are the same. Strided operands are packed separately, because the required scratch must be
 * known beforehand.
 */
function isSame(a: Transfer, b: Transfer): boolean {
  const isPlain = isContiguousMeta(a.meta) && isContiguousMeta(b.meta);
  const isOnePlace = a.operand.holder === b.operand.holder && a.operand.offset === b.operand.offset;
  return (
    isPlain && isOnePlace && a.meta.dtype === b.meta.dtype && sameShape(a.meta.shape, b.meta.shape)
  );
}
