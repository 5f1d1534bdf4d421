import { DeviceError } from '../../../errors/errors.ts';
import type { KernelName } from '../../../ops/kernel-names.ts';
import { formatSpec } from '../../../tensor/meta.ts';
import type { NamedPlan } from './named-plan.ts';

/** Kernels that only the CPU has; `docs/gpu.md` lists them. */
export function notOnGpu(name: KernelName): NamedPlan {
  return ([x]) => {
    throw new DeviceError({
      what: `${name}: there is no kernel for the GPU`,
      given: `a ${formatSpec(x!)} tensor on a GPU`,
      expected: 'a tensor on the CPU device',
      remedy: "move it: await x.toAsync('cpu')",
    });
  };
}
