/** What a call of a function with merged tensors leaves: values, memory layout, identities and gradients. */

import { memory, noGrad, Tensor, tensor, tidy, zeros } from '../../../src/index.ts';
import { functionText, outerNames } from './merge-programs.ts';
import type { Node } from './tree.ts';

type Fn = (...args: Tensor[]) => unknown[];

/** What the text of a program takes from around it. */
export const scope = { noGrad, zeros };

export function functionOf(nodes: readonly Node[]): Fn {
  const text = `'use strict'; return ${functionText(nodes)}`;
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

function argumentsFor([p, q, r, scale]: readonly number[]): Tensor[] {
  const matrix = (columns: number, from: number) =>
    tensor(data(3 * columns, from, scale!), { shape: [3, columns] });
  return [
    matrix(3, 1).requiresGrad_(),
    matrix(3, 2).t(),
    matrix(5, 3),
    tensor(data(3, 4, scale!)),
    matrix(3, 5).requiresGrad_(),
    tensor([p!, q!, r!]),
  ];
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

export function outcome(fn: Fn, values: readonly number[]): Outcome {
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
