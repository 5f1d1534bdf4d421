/** A recurrent network whose number of states only the run knows, and its data. */

import { full, type StaticFunction, type Tensor, tensor, zeros } from '../../src/index.ts';
import type { Never } from './paths-taken.ts';

export type Given = [x: Tensor, wx: Tensor, wh: Tensor, n: Tensor, v: Tensor];

const matrix = (rows: number, columns: number, from = 1) => {
  const data = Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => Math.sin(i * columns + j + from)),
  );
  return tensor(data).requiresGrad_() as Tensor;
};

/** A sequence of 6 rows, weights of the iterations, how many rows count, and weights for afterwards. */
export const lengths = (...all: number[]) =>
  all.map((n) => (): Given => {
    return [matrix(6, 3), matrix(3, 4, 2), matrix(4, 4, 3), tensor([n]), matrix(4, 4, 5)];
  });

/** The same with one number everywhere in the sequence. */
export const constant = (value: number) => (): Given => {
  const [x, ...rest] = lengths(3)[0]!();
  x.dispose();
  return [full([6, 3], value).requiresGrad_(), ...rest];
};

/** The states of a recurrent network over the first rows. */
export function states(x: Tensor, wx: Tensor, wh: Tensor, n: Tensor): Tensor[] {
  const out: Tensor[] = [];
  let h: Tensor = zeros([4]);
  let t = 0;
  const length = n.itemSync();
  while (t < length) {
    h = x.select(0, t).matmul(wx).add(h.matmul(wh)).tanh();
    out.push(h);
    t++;
  }
  return out;
}

/** What a stack() of its states never takes. */
export const neverEmpty: Never = ['no iteration', 't < length', 'stack() of nothing throws'];

export type Net = (...given: Given) => unknown;

/** The calls of a program whose shapes only the run knows: of each, what the user has called. */
export function callsOf(graph: StaticFunction<Net>): string[] {
  const { stages } = graph.programs().at(-1)!;
  return stages!.forward.ops.flatMap(({ call }) => (call ? [call.name] : []));
}
