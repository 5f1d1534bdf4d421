import type { Attrs, KernelOp } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { BufferHandle } from '../core/buffer-pool.ts';
import type { OwnKernels } from '../gpu-device.ts';
import { mostTileColumns } from '../wgsl/attention/tile-layout.ts';
import type { GpuCore } from './gpu-core.ts';
import { PreparedWgsl } from './prepared-wgsl.ts';
import { copyPlan, wgslPlan } from './wgsl-kernels.ts';

/** Our own WGSL kernels, for a WebGPU device. */
export class WgslKernels implements OwnKernels<BufferHandle> {
  readonly mostTileColumns = mostTileColumns;
  readonly #core: GpuCore;

  constructor(core: GpuCore) {
    this.#core = core;
  }

  has(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): boolean {
    return this.#plan(op, inputs, outputs, attrs) !== null;
  }

  prepare(
    op: KernelOp,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
  ): PreparedWgsl | null {
    const plan = this.#plan(op, inputs, outputs, attrs);
    return plan && new PreparedWgsl(op.name, this.#core, plan);
  }

  copy(from: TensorMeta, to: TensorMeta): PreparedWgsl {
    return new PreparedWgsl('data', this.#core, copyPlan(from, to));
  }

  #plan(op: KernelOp, inputs: readonly TensorMeta[], outputs: readonly TensorMeta[], attrs: Attrs) {
    const { mostBuffers } = this.#core;
    return wgslPlan(op, inputs, outputs, attrs, { mostBuffers });
  }
}
