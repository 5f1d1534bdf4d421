/** Straight-line programs of ops that touch memory in every way: new memory, views, writes in place. */

import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceNamed } from '../../runtime/device/current.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { normalize } from '../../src/5-optimize/cleanup/normalize.ts';
import { materializeLayouts } from '../../src/6-split/materialize-layouts.ts';
import type { Tensor } from '../../src/index.ts';

/** Numbers from 0 to below `bound`, the same for one seed (Park and Miller). */
export function randomInts(seed: number): (bound: number) => number {
  let state = (seed % 2147483646) + 1;
  return (bound) => {
    state = (state * 48271) % 2147483647;
    return state % bound;
  };
}

export const side = 8;

/** The program of what `make` computes from square matrices, and returns. */
export function traced(make: (input: () => Tensor) => readonly Tensor[]): Program {
  const builder = new ProgramBuilder(() => {
    throw new Error('no tensor from outside');
  });
  const device = deviceNamed('cpu');
  const input = () =>
    builder.input(contiguousMeta({ dtype: 'float32', shape: [side, side] }, device));
  return withInterceptor(builder, () =>
    noGrad(() => builder.finish(make(input).map((each) => builder.valueOf(each)))),
  );
}

/** `size` ops on `inputs` square matrices; one to three results are outputs. */
export function randomProgram(seed: number, size: number, inputs = 3): Program {
  const below = randomInts(seed);
  const builder = new ProgramBuilder(() => {
    throw new Error('no tensor from outside');
  });
  const device = deviceNamed('cpu');
  const program = withInterceptor(builder, () =>
    noGrad(() => {
      const values: Tensor[] = Array.from({ length: inputs }, () =>
        builder.input(contiguousMeta({ dtype: 'float32', shape: [side, side] }, device)),
      );
      const pick = (): Tensor => values[below(values.length)]!;
      const square = (): Tensor => {
        const found = pick();
        return found.rank === 2 && found.shape[0] === side ? found : found.expand([side, side]);
      };
      const makers: readonly (() => Tensor | null)[] = [
        () => pick().add(square()),
        () => pick().mul(square()),
        () => square().tanh(),
        () => square().matmul(square()),
        () => square().transpose(0, 1),
        () => square().sum(0, { keepDim: true }),
        () => square().contiguous(),
        () => square().softmax(),
        () => {
          const target = values[below(inputs)]!;
          target.mul_(0.5);
          return null;
        },
      ];
      for (let i = 0; i < size; i++) {
        const made = makers[below(makers.length)]!();
        if (made) values.push(made);
      }
      const made = values.slice(inputs);
      const outputs = new Set<ValueId>();
      for (let i = 0; i <= below(3) && made.length > 0; i++) {
        outputs.add(builder.valueOf(made[below(made.length)]!));
      }
      return builder.finish([...outputs]);
    }),
  );
  const normal = normalize(program);
  return materializeLayouts(normal, [...normal.values]);
}
