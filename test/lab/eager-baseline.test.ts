/** The eager baseline and the planner count the same: a step in the order of the source, each value freed at its last use. */

import { describe, expect, it } from 'vitest';
import { workload as transformer } from '../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../examples/workloads/conv-net.ts';
import { workload as mlp } from '../../examples/workloads/mlp.ts';
import { workload as resNet } from '../../examples/workloads/resnet.ts';
import { Captured } from '../../src/dispatch/captured-function.ts';
import { memory, refcounted, seed, type Tensor } from '../../src/index.ts';
import type { BuiltWorkload } from '../../src/lab/compare/workload.ts';

type Step = (...batch: Tensor[]) => Tensor;

const plain = {
  order: false,
  slices: false,
  reuse: false,
  minimizeSaved: false,
  savedMasks: false,
  savedPlaces: false,
  arena: false,
};

function stepPeak(build: () => BuiltWorkload, wayOf: (step: Step) => Step): number {
  seed(1);
  const built = build();
  const [step, batch] = [wayOf(built.step), built.inputs(0)];
  step(...batch).dispose();
  memory.reset('cpu');
  step(...batch).dispose();
  const { peakAllocated } = memory.stats('cpu');
  for (const tensor of batch) tensor.dispose();
  built.dispose();
  return peakAllocated;
}

describe('lab/eager baseline', () => {
  it.each([
    ['mlp', mlp],
    ['conv-net', convNet],
    ['resnet', resNet],
    ['char-transformer', transformer],
  ] as const)('%s', (_, { build }) => {
    const counted = stepPeak(() => build(), refcounted);
    let captured: Captured | undefined;
    const planned = stepPeak(
      () => build(),
      (step) => {
        const own = new Captured(step as Captured['fn'], { memory: plain });
        captured = own;
        return (...batch) => own.call(undefined, batch) as Tensor;
      },
    );
    // Those of running statistics, for a run that the loss refuses.
    const copies = captured!.parts[0]!.stages!.planned.forward.predicted.copiedBytes;
    expect(counted).toBe(planned - copies);
  });
});
