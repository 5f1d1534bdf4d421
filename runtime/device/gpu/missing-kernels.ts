import { DeviceError } from '../../errors/errors.ts';
import type { Launch } from '../device.ts';
import { type KernelOp, userName } from '../kernel-op.ts';
import { formatSpec, type TensorMeta } from '../tensor-meta.ts';

/** The handling of ops without a GPU kernel: computed by the CPU, or rejected. */
export type MissingKernelPolicy = 'cpu' | 'error';

/** Tracks ops without a kernel. Always warns, because each launch waits for the GPU and copies twice. */
export class MissingKernels {
  readonly #policy: MissingKernelPolicy;
  readonly #launches = new Map<string, number>();

  constructor(policy: MissingKernelPolicy) {
    this.#policy = policy;
  }

  /** The number of launches so far, by op. */
  get launches(): ReadonlyMap<string, number> {
    return this.#launches;
  }

  /** Wraps `launch` to warn before the op's first launch. Throws DeviceError if such ops are rejected. */
  counted(op: KernelOp, inputs: readonly TensorMeta[], launch: Launch): Launch {
    const name = userName(op);
    if (this.#policy === 'error') throw refusal(name, inputs);
    return (...operands) => {
      const before = this.#launches.get(name) ?? 0;
      this.#launches.set(name, before + 1);
      if (before === 0) {
        console.warn(
          `tostatic: ${name}: the GPU has no kernel for it; the CPU computes it, and operands and results are copied`,
        );
      }
      launch(...operands);
    };
  }
}

function refusal(name: string, inputs: readonly TensorMeta[]): DeviceError {
  return new DeviceError({
    what: `${name}: the GPU has no kernel for it`,
    given: inputs.map(formatSpec).join(', '),
    expected: "an op with a GPU kernel, since missingKernels is 'error'",
    remedy:
      "move the operands to the CPU: await x.toAsync('cpu'); or init('gpu') without that option",
  });
}
