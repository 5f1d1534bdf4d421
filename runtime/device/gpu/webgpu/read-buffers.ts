/** WebGPU's usage flags by value, because its globals don't exist everywhere. */
const usage = { mapRead: 1, copyTarget: 8 } as const;

/** Small reads, such as losses and conditions, share buffers of this size. */
const keptBytes = 4096;

/** Idle buffers beyond this are destroyed. */
const mostIdle = 16;

/** A mappable buffer that receives one read. */
export interface ReadBuffer {
  readonly buffer: GPUBuffer;
  /** Whether it served an earlier read, so that WebGPU is known to have memory for it. */
  readonly isConfirmed: boolean;
}

/** The buffers to which elements are copied for JavaScript to map them. Small buffers are reused. */
export class ReadBuffers {
  readonly #device: GPUDevice;
  readonly #idle: GPUBuffer[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  take(bytes: number): ReadBuffer {
    const kept = bytes <= keptBytes ? this.#idle.pop() : undefined;
    if (kept) return { buffer: kept, isConfirmed: true };
    const size = Math.max(bytes, keptBytes);
    const buffer = this.#device.createBuffer({ size, usage: usage.mapRead | usage.copyTarget });
    return { buffer, isConfirmed: false };
  }

  /** Returns an unmapped buffer to the pool after a successful read. */
  release({ buffer }: ReadBuffer): void {
    if (buffer.size === keptBytes && this.#idle.length < mostIdle) this.#idle.push(buffer);
    else buffer.destroy();
  }

  destroy(): void {
    for (const buffer of this.#idle.splice(0)) buffer.destroy();
  }
}
