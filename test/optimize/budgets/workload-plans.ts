import type { PassName } from '../../../src/5-optimize/passes.ts';
import { sourceOf } from '../../../src/check/sources.ts';
import { deviceGuard, type Tensor, toStatic } from '../../../src/index.ts';
import type { Workload } from '../../../src/lab/compare/workload.ts';
import type { MemoryOptions } from '../../../src/programs/memory-options.ts';
import type { SubgraphStages } from '../../../src/programs/stages.ts';

/** Plans with some memory options, and without some passes. */
type Plan = (own: Partial<MemoryOptions>, without?: readonly PassName[]) => SubgraphStages;

/** The final plans of a workload's whole step, on the device that only counts. */
export function workloadPlans(workload: Workload): Plan {
  return deviceGuard('meta', () => {
    const work = workload.build({ device: 'meta', size: 'reduced', breaks: false });
    const f = toStatic(work.step.bind(work) as (...inputs: Tensor[]) => Tensor, {
      fallback: 'error',
    });
    const inputs = work.inputs(0);
    // The second step has the optimizer's state.
    for (let i = 0; i < 2; i++) f(...inputs).dispose();
    const { planned } = f.programs().at(-1)!.stages!;
    const { program, requested, options, donated, compile } = sourceOf(planned)!;
    for (const each of [...inputs, work]) each.dispose();
    return (own, without = []) => {
      const memory = { ...options.memory, ...own };
      const all = { ...options, tier: 'final', memory, without: new Set(without) } as const;
      return compile(program, requested, all, donated);
    };
  });
}
