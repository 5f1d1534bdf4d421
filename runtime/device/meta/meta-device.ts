import { DeviceError } from '../../errors/errors.ts';
import { BestFitAllocator } from '../../memory/allocator.ts';
import { expectSync } from '../../options/expect-arguments.ts';
import { expectArguments } from '../../options/expect-options.ts';
import { iterable } from '../../options/option-kinds.ts';
import { type DType, dtypes, newTypedArray, type TypedArray } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import { registerDevice } from '../current.ts';
import type { Device, Launch } from '../device.ts';
import { innerBytes } from '../inner-bytes.ts';
import type { KernelOp } from '../kernel-op.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { transferLaunch } from '../transfer/transfer-launch.ts';

/** The chunk size, as on the CPU, so that reserved bytes are comparable. */
const chunkBytes = 1 << 20;

const noRead = 'meta: no data to read';

/** Whether the error was thrown by a read without a provided value. */
export function isMetaRead(error: unknown): boolean {
  return error instanceof DeviceError && error.message.startsWith(noRead);
}

function noData(remedy = 'make the tensors on a device with memory; use meta only to plan'): never {
  throw new DeviceError({
    what: noRead,
    given: "a tensor on the 'meta' device, which counts bytes and computes no values",
    expected: "a tensor on 'cpu' or 'gpu'",
    remedy,
  });
}

/** Infers shapes and counts bytes, for models of any size, without computing anything. */
class MetaDevice implements Device {
  readonly name = 'meta';
  readonly kind = 'meta';
  readonly allocator: BestFitAllocator;
  /** As on the CPU, whose memory this device counts. */
  readonly sumsInBlocks = true;
  readonly typedElements = true;
  readonly overwritesOperands = true;
  readonly fusesPointwise = true;
  readonly mostFusedBuffers = Infinity;
  readonly mostTileColumns = 0;
  readonly innerBytes = innerBytes;
  #next = chunkBytes;
  #reads: Iterator<number | boolean> | null = null;

  constructor() {
    this.allocator = new BestFitAllocator('meta', {
      grow: (bytes) => {
        const taken = Math.ceil(bytes / chunkBytes) * chunkBytes;
        const ptr = this.#next;
        this.#next += taken;
        return { ptr, bytes: taken };
      },
    });
  }

  elementBytes(dtype: DType): number {
    return dtypes[dtype].bytes;
  }

  prepare(op: KernelOp, inputs: readonly TensorMeta[], outputs: readonly TensorMeta[]): Launch {
    return op.kernel.kind === 'transfer' ? transferLaunch(inputs[0]!, outputs[0]!) : () => {};
  }

  scratchBytes(): number {
    return 0;
  }

  upload(): void {}

  async download(meta: TensorMeta): Promise<TypedArray> {
    return this.downloadSync(meta);
  }

  downloadSync({ dtype, shape }: TensorMeta): TypedArray {
    if (!this.#reads || sizeOf(shape) !== 1) return noData();
    const read = this.#reads.next();
    if (read.done) return noData('provide a value for every read in the body');
    const data = newTypedArray(dtype, 1);
    data[0] = Number(read.value);
    return data;
  }

  /** See `withMetaReads`. */
  withReads<T>(answers: Iterable<number | boolean>, body: () => T): T {
    const around = this.#reads;
    this.#reads = answers[Symbol.iterator]();
    try {
      return body();
    } finally {
      this.#reads = around;
    }
  }
}

export const meta: MetaDevice = new MetaDevice();
registerDevice(meta);

/**
 * Runs `body` with reads of single elements on `meta` returning these numbers, in order: the device computes no
 * numbers, but decisions may depend on them. Throws DeviceError if there are too few.
 */
export function withMetaReads<T>(answers: Iterable<number | boolean>, body: () => T): T {
  expectSync('withMetaReads', body, 'withMetaReads(reads, () => model.forward(x))');
  expectArguments('withMetaReads', { answers }, { answers: iterable });
  return meta.withReads(answers, body);
}
