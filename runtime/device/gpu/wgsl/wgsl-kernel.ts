import type { Dispatched } from '../core/bind-groups.ts';
import { messageOf } from '../core/node-webgpu.ts';
import type { WgslText } from './wgsl-text.ts';

/** GPUShaderStage.COMPUTE by value, because its global doesn't exist everywhere. */
const computeStage = 4;

/** A pipeline of one text, built asynchronously. */
export class WgslKernel {
  readonly ready: Promise<void>;
  failure: Error | null = null;
  readonly #layout: GPUBindGroupLayout;
  readonly #uniformBytes: number;
  #dispatched: Dispatched | null = null;

  constructor(device: GPUDevice, text: WgslText) {
    this.#uniformBytes = text.uniformBytes;
    this.#layout = device.createBindGroupLayout({
      entries: [
        {
          binding: 0,
          visibility: computeStage,
          buffer: { type: 'uniform', hasDynamicOffset: true },
        },
        ...text.writable.map(
          (isWritable, i): GPUBindGroupLayoutEntry => ({
            binding: i + 1,
            visibility: computeStage,
            buffer: { type: isWritable ? 'storage' : 'read-only-storage' },
          }),
        ),
      ],
    });
    this.ready = this.#build(device, text.code).catch((error: unknown) => {
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
    });
  }

  get built(): boolean {
    return this.#dispatched !== null;
  }

  /** The command that a batch dispatches; the kernel must be built. */
  get dispatched(): Dispatched {
    return this.#dispatched!;
  }

  async #build(device: GPUDevice, code: string): Promise<void> {
    const module = device.createShaderModule({ code });
    const pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [this.#layout] }),
      compute: { module, entryPoint: 'main' },
    });
    this.#dispatched = {
      pipeline,
      layout: this.#layout,
      uniformBytes: this.#uniformBytes,
      hasDynamicOffset: true,
    };
  }
}
