/**
 * Host functions that call back: traced through a function of the same meaning, as its bytecode. So a
 * break in a callback stops in the middle of it like anywhere else.
 */

import type { Code } from '../bytecode/code.ts';
import type { Closure } from '../bytecode/frame.ts';
import { arrayLength, asArray } from './arrays.ts';
import { isRefused } from './code-of.ts';
import { asCollection } from './collections.ts';
import * as arrays from './equivalents/arrays.ts';
import * as collections from './equivalents/collections.ts';
import * as lists from './equivalents/lists.ts';
import { insertionSort } from './equivalents/sort.ts';
import { grownIn } from './graph-control/grown-array.ts';
import { needsElements } from './graph-control/list-elements.ts';
import type { Tracer } from './tracer.ts';
import type { Variable } from './variable.ts';

type AnyFunction = (...args: never[]) => unknown;

interface Equivalent {
  readonly body: AnyFunction;
  /** Whether it stands for the host's function with this receiver. */
  readonly fits: (t: Tracer, receiver: Variable, args: readonly Variable[]) => boolean;
}

const isCallable = (variable: Variable | undefined): boolean =>
  variable?.kind === 'function' || variable?.kind === 'closure' || variable?.kind === 'bound';

const onArray: Equivalent['fits'] = (t, receiver, [callback]) =>
  isCallable(callback) && asArray(t, receiver) !== undefined;

/** Longer lists are merged from runs, by comparisons in another order. */
const maxInserted = 63;

const onShortArray: Equivalent['fits'] = (t, receiver, [callback]) => {
  const array = isCallable(callback) ? asArray(t, receiver) : undefined;
  return array !== undefined && arrayLength(t, array) <= maxInserted;
};

const onCollection: Equivalent['fits'] = (t, receiver, [callback]) =>
  isCallable(callback) && asCollection(t, receiver, 'Map', 'Set') !== undefined;

const table = new Map<unknown, Equivalent>([
  ...(
    [
      [Array.prototype.map, arrays.map],
      [Array.prototype.filter, arrays.filter],
      [Array.prototype.forEach, arrays.forEach],
      [Array.prototype.some, arrays.some],
      [Array.prototype.every, arrays.every],
      [Array.prototype.find, arrays.find],
      [Array.prototype.findIndex, arrays.findIndex],
      [Array.prototype.findLast, arrays.findLast],
      [Array.prototype.findLastIndex, arrays.findLastIndex],
      [Array.prototype.flatMap, arrays.flatMap],
      [Array.prototype.reduce, arrays.reduce],
      [Array.prototype.reduceRight, arrays.reduceRight],
    ] as [AnyFunction, AnyFunction][]
  ).map(([host, body]) => [host, { body, fits: onArray }] as const),
  [Array.prototype.sort, { body: insertionSort as AnyFunction, fits: onShortArray }],
  [Array.prototype.toSorted, { body: arrays.toSorted as AnyFunction, fits: onShortArray }],
  [Map.prototype.forEach, { body: collections.forEach, fits: onCollection }],
  [Set.prototype.forEach, { body: collections.forEach, fits: onCollection }],
  [
    Array.from,
    {
      body: arrays.from,
      fits: (_t: Tracer, _receiver: Variable, [, f]: readonly Variable[]) => isCallable(f),
    },
  ],
]);

/** Of arrays whose length only the program knows. */
const ofLists = new Map<unknown, AnyFunction>([
  [Array.prototype.map, lists.map],
  [Array.prototype.slice, lists.slice],
  [Array.prototype.reverse, lists.reverse],
  [Array.prototype.toReversed, lists.toReversed],
  [Array.prototype.shift, lists.shift],
  [Array.prototype.unshift, lists.unshift],
  [Array.prototype.splice, lists.splice],
  [Array.prototype.fill, lists.fill],
  [Array.prototype.indexOf, lists.indexOf],
  [Array.prototype.includes, lists.includes],
  [Array.prototype.sort, lists.sort],
  [Array.prototype.toSorted, lists.toSorted],
] as [AnyFunction, AnyFunction][]);

const codes = new WeakSet<Code>();

/** Code that stands for the host's: no place in it is the user's. */
export function isEquivalent(code: Code): boolean {
  return codes.has(code);
}

function bodyFor(
  t: Tracer,
  fn: AnyFunction,
  receiver: Variable,
  args: readonly Variable[],
): AnyFunction | undefined {
  const ofList = grownIn(t, receiver) ? ofLists.get(fn) : undefined;
  if (ofList) {
    const sorts = ofList === lists.sort || ofList === lists.toSorted;
    if (sorts && !isCallable(args[0])) throw needsElements(fn.name, ' without a comparison');
    return ofList;
  }
  const equivalent = table.get(fn);
  return equivalent?.fits(t, receiver, args) ? equivalent.body : undefined;
}

/** The code that stands for a host function in this call; undefined when there is none. */
export function equivalentOf(
  t: Tracer,
  fn: AnyFunction,
  receiver: Variable,
  args: readonly Variable[],
): Closure | undefined {
  const body = bodyFor(t, fn, receiver, args);
  if (!body) return undefined;
  const found = t.codeOf(body);
  if (isRefused(found)) return undefined;
  codes.add(found.closure.code);
  return found.closure;
}
