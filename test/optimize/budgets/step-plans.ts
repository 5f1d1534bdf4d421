import { type CompiledFrom, sourceOf } from '../../../src/check/sources.ts';
import { deviceGuard, type nn, optim, type Tensor, toStatic, zeros } from '../../../src/index.ts';
import type { MemoryOptions } from '../../../src/programs/memory-options.ts';
import type { SubgraphStages } from '../../../src/programs/stages.ts';

export type Forward = (x: Tensor) => Tensor;

/** The final plans of a step with some memory options; large programs begin with a first plan. */
export interface StepPlans {
  readonly source: CompiledFrom;
  readonly plan: (own: Partial<MemoryOptions>) => SubgraphStages;
}

/** The plans of a whole step: a loss, its backward and an update, on the device that only counts. */
export function stepPlans(
  modules: readonly nn.Module[],
  lossOf: Forward,
  shape: number[],
  memory: Partial<MemoryOptions> = {},
): StepPlans {
  return deviceGuard('meta', () => {
    const optimizer = new optim.SGD(
      modules.flatMap((each) => [...each.parameters()]),
      { lr: 0.1 },
    );
    const f = toStatic(
      (x: Tensor) => {
        const loss = lossOf(x);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { memory, fallback: 'error' },
    );
    using x = zeros(shape);
    f(x).dispose();
    const source = sourceOf(f.programs().at(-1)!.stages!.planned)!;
    const plan = (own: Partial<MemoryOptions>) => {
      const { program, requested, options, donated } = source;
      const memory = { ...options.memory, ...own };
      return source.compile(program, requested, { ...options, tier: 'final', memory }, donated);
    };
    return { source, plan };
  });
}
