import { DeviceError } from '../../errors/errors.ts';
import type { Launch } from '../device.ts';
import { type KernelOp, userName } from '../kernel-op.ts';
import { formatSpec, type TensorMeta } from '../tensor-meta.ts';

/** The treatment of ops without a GPU kernel: the CPU computes them, or they are rejected. */
export type MissingKernelPolicy = 'cpu' | 'error';

/** Ops without a kernel: never silent, since each launch waits for the GPU and copies twice. */
export class MissingKernels {
  readonly #policy: MissingKernelPolicy;
  readonly #launches = new Map<string, number>();

  constructor(policy: MissingKernelPolicy) {
    this.#policy = policy;
  }

  /** By op, launches so far. */
  get launches(): ReadonlyMap<string, number> {
    return this.#launches;
  }

  /** `launch` with a warning before an op's first one. Throws DeviceError where they are rejected. */
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
