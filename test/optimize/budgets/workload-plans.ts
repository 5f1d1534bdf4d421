import { sourceOf } from '../../../src/check/sources.ts';
import { deviceGuard, type Tensor, toStatic } from '../../../src/index.ts';
import type { Workload } from '../../../src/lab/compare/workload.ts';
import type { MemoryOptions } from '../../../src/programs/memory-options.ts';
import type { SubgraphStages } from '../../../src/programs/stages.ts';

/** The final plans of a workload's whole step with some memory options, on the device that only counts. */
export function workloadPlans(workload: Workload): (own: Partial<MemoryOptions>) => SubgraphStages {
  return deviceGuard('meta', () => {
    const work = workload.build({ device: 'meta', size: 'reduced', breaks: false });
    const f = toStatic(work.step.bind(work) as (...inputs: Tensor[]) => Tensor, {
      fallback: 'error',
    });
    const inputs = work.inputs(0);
    // The second step has the optimizer's state.
    for (let i = 0; i < 2; i++) f(...inputs).dispose();
    const { planned } = f.programs().at(-1)!.stages!;
    const { program, wanted, options, donated, compile } = sourceOf(planned)!;
    for (const each of [...inputs, work]) each.dispose();
    return (own) => {
      const memory = { ...options.memory, ...own };
      return compile(program, wanted, { ...options, tier: 'final', memory }, donated);
    };
  });
}
