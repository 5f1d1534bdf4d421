/** The order of a sort whose comparisons are data-dependent. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { InvariantError } from '../../../runtime/errors/invariant.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { stack } from '../../../runtime/ops/movement/joining.ts';
import { reshape, select } from '../../../runtime/ops/movement/movement.ts';
import { arange } from '../../../runtime/ops/movement/ranges.ts';
import { add, eq, mul, sub } from '../../../runtime/ops/pointwise/pointwise.ts';
import { sum } from '../../../runtime/ops/reduce/reduce.ts';
import { hasEffect } from '../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import { isPolyfill } from '../builtins/polyfills/codes.ts';
import { fewestWithRun, insertionSort, sortByRank } from '../builtins/polyfills/sort.ts';
import { Raised } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { arrayElements, arrayLength, asArray } from '../values/arrays.ts';
import { isRefused } from '../variables/code-of.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import {
  type FunctionVariable,
  known,
  newArray,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { existingObjects } from './locations/reachable.ts';
import { type State, stateOf } from './locations/snapshot.ts';
import { isSame } from './merge/is-same.ts';
import { check } from './numbers/check.ts';
import { constantTensor, scalarBinary } from './numbers/scalars.ts';

/**
 * The maximum length for ranking. Longer arrays are sorted by loops of the program if they can be lists, since such a
 * program doesn't grow with the length.
 */
const mostRanked = 16;

/**
 * Returns whether an array of this length is better a list. In a loop of the program, the length may change in every
 * iteration.
 */
export function isBetterAsList({ control }: Tracer, length: number): boolean {
  return control.listsGrow && (control.isInLoop || length > mostRanked);
}

/**
 * Called when a comparison of `insertionSort` is data-dependent. If the comparator does nothing but compare,
 * restarts the trace, which then sorts by ranks.
 */
export function sortByRanks(t: Tracer, frame: TraceFrame): void {
  const { code } = frame.closure;
  if (!isPolyfill(code) || code !== codeOfInsertion(t)) return;
  const caller = t.frames[t.frames.indexOf(frame) - 1];
  const array = asArray(t, frame.thisVariable);
  if (!caller || !array) return;
  const { plans } = t.control;
  const pc = (caller.pc - 1) as Pc;
  if (!isBetterAsList(t, arrayLength(t, array))) plans.sortAt(caller.closure.code, pc, 'ranked');
  // Searching for a run first creates fewer paths.
  else if (fewestWithRun() > 2) plans.sortAt(caller.closure.code, pc, 'inserted after a run');
}

function codeOfInsertion(t: Tracer): Code | undefined {
  const found = t.codeOf.ownAlone(insertionSort);
  return isRefused(found) ? undefined : found.closure.code;
}

/** The `orderOf` argument of `sortByRank`, which only the tracer performs. */
export function orderOf(_items: readonly unknown[], _compare: unknown): readonly number[] {
  throw new InvariantError('orderOf() is called outside of a trace');
}

const orderVariable: FunctionVariable = { kind: 'function', value: orderOf, source: null };

/**
 * Returns the arguments of a sort and its polyfill's extra arguments; undefined for the polyfill of another function.
 */
export function sortArguments(
  t: Tracer,
  body: unknown,
  [compare = undefinedVariable]: readonly Variable[],
): readonly Variable[] | undefined {
  if (body === sortByRank) return [compare, orderVariable];
  if (body !== insertionSort) return undefined;
  const { closure, pc } = t.top;
  // V8's native `toSorted` searches for a run in every array; its polyfill calls `sort`.
  const findsRun =
    isPolyfill(closure.code) || t.control.plans.sortOf(closure.code, pc) === 'inserted after a run';
  return [compare, known(findsRun ? 2 : fewestWithRun())];
}

/**
 * Returns the indices of the items in sorted order. Every pair is compared as in V8's insertion sort, the later
 * item with the earlier one; an item's rank is the number of items before it. If the comparator is inconsistent,
 * for example because of NaN, ranks coincide: the run ends without effects, and the call runs natively.
 */
export function traceOrder(t: Tracer, [items, compare]: readonly Variable[]): Variable {
  const array = asArray(t, items!)!;
  const elements = arrayElements(t, array);
  const count = elements.length;
  if (count < 2) return newArray(elements.map((_, i) => known(i)));
  const device = t.currentDevice;
  const before = (later: Variable, earlier: Variable) =>
    lessThanZero(t, compareOnly(t, compare!, later, earlier), device);
  const isBefore = elements.map((later, row) =>
    elements.map((earlier, column) => (column < row ? before(later, earlier) : null)),
  );
  const never = constantTensor(t, 0, device);
  const [ranked, order] = t.runApi(() => noGrad(() => orderFrom(isBefore, never)));
  check(t, ranked!, true);
  return newArray(
    elements.map((_, i) => ({
      kind: 'scalar',
      type: 'number',
      tensor: t.runApi(() => noGrad(() => select(order!, 0, i))),
    })),
  );
}

/**
 * Returns whether all ranks differ, and the item of each rank, from a strictly lower triangular matrix of
 * booleans.
 */
function orderFrom(isBefore: readonly (readonly (Tensor | null)[])[], never: Tensor): Tensor[] {
  const count = isBefore.length;
  const rows = isBefore.map((row) => stack(row.map((each) => each ?? never)));
  const matrix = stack(rows);
  const places = deviceGuard(never.device, () => arange(count, { dtype: 'float64' }));
  const ranks = add(sub(places, sum(matrix, 1)), sum(matrix, 0));
  // The sum of squared ranks is largest if all ranks differ.
  const expected = ((count - 1) * count * (2 * count - 1)) / 6;
  const differ = eq(sum(mul(ranks, ranks)), expected);
  const isAt = eq(reshape(ranks, [1, count]), reshape(places, [count, 1]));
  return [differ, sum(mul(cast(isAt, 'float64'), places), 1)];
}

/**
 * Returns the comparator's result. A comparator that does more than compare, or throws, is called as often as
 * natively.
 */
function compareOnly(t: Tracer, compare: Variable, later: Variable, earlier: Variable): Variable {
  const existing = existingObjects(t);
  const before = stateOf(t, t.top, existing);
  const { ops } = t.builder.checkpoint();
  try {
    const order = t.execution.callInside(compare, undefinedVariable, [later, earlier]);
    const isPure = !t.builder.some(hasEffect, ops);
    if (isPure && isUnchanged(t, before, stateOf(t, t.top, existing))) return order;
  } catch (error) {
    if (!(error instanceof GraphBreak || error instanceof Raised)) throw error;
  }
  return sortInOrder(t);
}

function sortInOrder(t: Tracer): never {
  const caller = t.frames[t.frames.length - 2]!;
  t.control.plans.sortAt(caller.closure.code, (caller.pc - 1) as Pc, 'inserted');
  throw new InvariantError('a sort that is ranked is planned as an insertion');
}

function isUnchanged(t: Tracer, before: State, after: State): boolean {
  if (before.size !== after.size) return false;
  return [...after].every(([key, { raw, value }]) => {
    const held = before.get(key);
    return held && (held.raw === raw || isSame(t, held.value, value));
  });
}

function lessThanZero(t: Tracer, order: Variable, device: Device): Tensor {
  if (order.kind === 'constant') {
    return constantTensor(t, Number(Number(constantOf(t, order)) < 0), device);
  }
  const less = scalarBinary(t, '<', order, known(0));
  if (less?.kind !== 'scalar') return sortInOrder(t);
  return t.runApi(() => noGrad(() => cast(less.tensor, 'float64')));
}
