/** Loaded programs record what the function records, in whatever gradient mode it is called. */

import { expect, it } from 'vitest';
import {
  enableGrad,
  type LoadedProgram,
  load,
  noGrad,
  save,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { bits } from './exercise.ts';

const functions: Readonly<Record<string, (x: Tensor) => readonly Tensor[]>> = {
  'without modes of its own': (x) => [x.mul(2), x.exp()],
  'with noGrad around a part': (x) => [x.exp(), noGrad(() => x.mul(3))],
  'with enableGrad around a part': (x) => [x.mul(2), enableGrad(() => x.exp().mul(x))],
  'with enableGrad inside of noGrad': (x) =>
    noGrad(() => {
      const y = x.mul(2);
      return [y, enableGrad(() => y.add(x).exp()), x.tanh()];
    }),
  'with enableGrad around a branch': (x) =>
    enableGrad(() =>
      (x.sum().itemSync() as number) > 0 ? [x.exp(), x.mul(2)] : [x.neg(), x.tanh()],
    ),
};

const modes: Readonly<Record<string, <T>(body: () => T) => T>> = {
  'with gradients': (body) => body(),
  'under noGrad': noGrad,
};
const modeNames = Object.keys(modes);

/** Values, what requires a gradient, and the gradients. */
function outcome(fn: (x: Tensor) => readonly Tensor[], mode: string, start: number) {
  return tidy(() => {
    const x = tensor([start, 0.5]).requiresGrad_();
    const results = modes[mode]!(() => fn(x));
    const roots = results.filter(({ requiresGrad, isLeaf }) => requiresGrad && !isLeaf);
    for (const root of roots) root.sum().backward(undefined, { retainGraph: true });
    return [bits(results), results.map(({ requiresGrad }) => requiresGrad), bits(x.grad)];
  });
}

const orders = [modeNames, [...modeNames].reverse(), ...modeNames.map((name) => [name])];

it.each(Object.entries(functions))('%s', async (_name, fn) => {
  for (const options of [{ fullGraph: true }, { fullGraph: true, dynamic: true }] as const) {
    for (const traced of orders) {
      const f = toStatic(fn, options satisfies ToStaticOptions);
      for (const mode of traced) for (const start of [1, -2]) outcome(f, mode, start);
      const loaded = (await load(await save(f))) as LoadedProgram;
      for (const mode of [...traced, ...[...traced].reverse()]) {
        for (const start of [1, -2]) {
          const expected = outcome(fn, mode, start);
          const found = outcome(loaded as unknown as typeof fn, mode, start);
          expect(found, `traced ${traced}, called ${mode}`).toEqual(expected);
        }
      }
    }
  }
});
