/** What a call of a function with merged tensors leaves: values, memory layout, identities and gradients. */

import { memory, noGrad, Tensor, tensor, tidy, where, zeros } from '../../../src/index.ts';
import { functionText, type Kind, outerNames } from './merge-programs.ts';
import type { Node } from './tree.ts';

type Fn = (...args: Tensor[]) => unknown[];

/** What the text of a program takes from around it. */
export const scope = { noGrad, where, zeros };

export function functionOf(nodes: readonly Node[], kind: Kind = 'plain'): Fn {
  const text = `'use strict'; return ${functionText(nodes, kind)}`;
  return new Function(...outerNames, text)(...outerNames.map((name) => scope[name])) as Fn;
}

/** The decisions that the tests on `x` make, and data that decides the others. */
export const inputs = [
  [1, -1, 1, 0.3],
  [-1, 1, 1, -0.8],
  [-1, -1, -1, 2.1],
  [1, 1, 1, -2.4],
];

const data = (count: number, from: number, scale: number) =>
  Array.from({ length: count }, (_, i) => Math.sin(i * 1.7 + from) * scale);

/** What a call is given: numbers that decide, and the size of its matrices. */
export interface Given {
  readonly numbers: readonly number[];
  readonly size: number;
  readonly kind: Kind;
}

function argumentsFor({ numbers: [p, q, r, scale], size, kind }: Given): Tensor[] {
  const matrix = (columns: number, from: number) =>
    tensor(data(size * columns, from, scale!), { shape: [size, columns] });
  const all = [
    matrix(size, 1).requiresGrad_(),
    matrix(size, 2).t(),
    matrix(size + 2, 3),
    tensor(data(size, 4, scale!)),
    matrix(size, 5).requiresGrad_(),
    tensor([p!, q!, r!]),
  ];
  if (kind !== 'mixed') return all;
  const others = [
    matrix(size, 6).mul(3).to('int32'),
    matrix(size, 7).gt(0),
    matrix(size, 8).to('float16'),
    matrix(size, 9).to('float64').t(),
  ];
  return [...all, ...others];
}

interface Outcome {
  readonly state: string;
  readonly gradients: string;
}

/** To the last bit; JSON knows neither -0 nor NaN. */
const bits = (value: Tensor): string =>
  [...value.dataSync()].map((each) => (Object.is(each, -0) ? '-0' : String(each))).join();

/** `tensors`: those met so far, so that the same one is told from an equal one. */
function exactly(value: unknown, tensors: Tensor[]): string {
  if (!(value instanceof Tensor)) return String(value);
  const known = tensors.indexOf(value);
  if (known >= 0) return `#${known}`;
  tensors.push(value);
  const { dtype, shape, isContiguous, strides, requiresGrad, isLeaf } = value;
  const layout = isContiguous ? '' : ` strides ${strides}`;
  const gradient = requiresGrad ? ` grad ${isLeaf ? 'leaf' : ''}` : '';
  return `${dtype}[${shape}]${layout}${gradient}: ${bits(value)}`;
}

export function outcome(fn: Fn, values: Given): Outcome {
  return tidy(() => {
    const given = argumentsFor(values);
    try {
      const result = fn(...given);
      const met: Tensor[] = [];
      const state = [...given, ...result].map((each) => exactly(each, met)).join('\n');
      return { state, gradients: gradientsOf(result, given) };
    } catch (error) {
      const { name, message } = error as Error;
      return { state: `${name}: ${message.split('\n')[0]}`, gradients: '' };
    } finally {
      for (const each of given) each.grad?.dispose();
    }
  });
}

function gradientsOf(result: readonly unknown[], given: readonly Tensor[]): string {
  const roots = result.filter((each) => each instanceof Tensor && each.requiresGrad) as Tensor[];
  const [first, ...others] = new Set(roots);
  try {
    if (first) others.reduce((sum, each) => sum.add(each.sum()), first.sum()).backward();
  } catch (error) {
    const { name, message } = error as Error;
    return `${name}: ${message.split('\n')[0]}`;
  }
  return given.map(({ grad }) => grad && bits(grad)).join('\n');
}

/** Bytes that are in use. */
export const allocated = (): number => memory.stats('cpu').allocated;
