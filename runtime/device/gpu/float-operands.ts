import { alignedBytes } from '../../memory/allocator.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { Attrs } from '../kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../tensor-meta.ts';
import type { BufferHandle, CheckedHandle } from './core/buffer-pool.ts';
import type { DeviceCore } from './core/device-core.ts';
import { launchOf, type Places, type Prepared } from './prepared-kernel.ts';

/** Returns the operand in the form that gpu.js kernels read: unchanged, or as a float32 copy. */
export function asFloats(meta: TensorMeta): TensorMeta {
  if (meta.dtype === 'float32') return meta;
  return contiguousMeta({ dtype: 'float32', shape: meta.shape }, meta.device);
}

/** A copy of one operand during a launch. */
interface Conversion<H extends CheckedHandle> {
  readonly input: number;
  readonly bytes: number;
  readonly kernel: Prepared<H>;
}

/** A gpu.js kernel on a device that stores other dtypes natively: operands are converted to float32 first. */
export class FloatOperands<H extends CheckedHandle = BufferHandle> implements Prepared<H> {
  readonly #op: string;
  readonly #core: DeviceCore<H>;
  /** The kernel for operands as `asFloats` returns them. */
  readonly #kernel: Prepared<H>;
  readonly #conversions: readonly Conversion<H>[];

  constructor(
    op: string,
    core: DeviceCore<H>,
    kernel: Prepared<H>,
    inputs: readonly TensorMeta[],
    copyKernel: (from: TensorMeta, to: TensorMeta) => Prepared<H>,
  ) {
    this.#op = op;
    this.#core = core;
    this.#kernel = kernel;
    this.#conversions = inputs.flatMap((meta, input) => {
      const floats = asFloats(meta);
      if (floats === meta) return [];
      return [{ input, bytes: sizeOf(meta.shape) * 4, kernel: copyKernel(meta, floats) }];
    });
  }

  get scratchBytes(): number {
    const copies = this.#conversions.reduce((sum, { bytes }) => sum + alignedBytes(bytes), 0);
    return copies + this.#kernel.scratchBytes;
  }

  build(inPlace: boolean, attrs: Attrs): void {
    for (const { kernel } of this.#conversions) kernel.build(false, {});
    this.#kernel.build(inPlace, attrs);
  }

  bind(attrs: Attrs): Launch {
    return launchOf(this, this.#core, this.#op, attrs);
  }

  run(operands: Places<H>, attrs: Attrs): void {
    const sizes = this.#conversions.map(({ bytes }) => bytes);
    this.#core.withScratch(sizes, (scratch) => {
      const floats = new Map(
        this.#conversions.map(({ input, kernel }, i) => {
          const target = { buffer: scratch[i]!, offset: 0 };
          const source = operands({ kind: 'input', index: input });
          kernel.run((slot) => (slot.kind === 'input' ? source : target), {});
          return [input, target] as const;
        }),
      );
      this.#kernel.run((slot) => {
        const copy = slot.kind === 'input' ? floats.get(slot.index) : undefined;
        return copy ?? operands(slot);
      }, attrs);
    });
  }
}
