import { DeviceError } from '../../errors/errors.ts';
import { BestFitAllocator } from '../../memory/allocator.ts';
import { type DType, dtypes } from '../../tensor/dtype.ts';
import { registerDevice } from '../current.ts';
import type { Device, Launch } from '../device.ts';

/** Chunks are taken in this size, as on the CPU, so that reserved bytes are comparable. */
const chunkBytes = 1 << 20;

function noData(): never {
  throw new DeviceError({
    what: 'meta: no data to read',
    given: "a tensor on the 'meta' device, which counts bytes and computes no values",
    expected: "a tensor on 'cpu' or 'gpu'",
    remedy: 'make the tensors on a device with memory; use meta only to plan',
  });
}

/** Infers shapes and counts bytes, for models of any size; computes nothing. */
export class MetaDevice implements Device {
  readonly name = 'meta';
  readonly kind = 'meta';
  readonly allocator: BestFitAllocator;
  /** As the CPU, whose memory it counts. */
  readonly sumsInBlocks = true;
  #next = chunkBytes;

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

  prepare(): Launch {
    return () => {};
  }

  scratchBytes(): number {
    return 0;
  }

  upload(): void {}

  async download(): Promise<never> {
    return noData();
  }

  downloadSync(): never {
    return noData();
  }
}

export const meta: MetaDevice = new MetaDevice();
registerDevice(meta);
