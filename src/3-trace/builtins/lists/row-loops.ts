/**
 * Loops over pre-existing arrays that grow with every call. Iterations are traced until each variable that they change
 * is a tensor computed by the loop; the last one is repeated for all other elements, in this call and others.
 */

import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import type { Counter } from '../../inputs/row-index.ts';
import { RowWatch } from '../../inputs/row-watch.ts';
import { TapeMismatch } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import { lengthBefore } from '../../values/arrays.ts';
import { offsetFromLength } from '../../values/varying-array.ts';
import { TensorList } from '../../variables/tensor-list.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { NewArrayVariable, SymbolicVariable, Variable } from '../../variables/variable.ts';
import { freeIn, type Iteration, type IterationResults, repeatFor } from './repeated-rows.ts';
import { differently, type Rows, resolverOf, rowsOf } from './row-elements.ts';
import { AppendsTo, probeRow, RowIterations } from './row-iterations.ts';
import { appendForRows, onlyAppendedTo, rowLocations } from './row-locations.ts';
import {
  counterAfter,
  countIterations,
  fromEnd,
  type RowOrder,
  rowsInOrder,
  totalOf,
} from './row-order.ts';

export interface RowLoop {
  readonly rows: Rows;
  /** The register of the loop's condition; -1 if there is none. */
  readonly test: number;
  /** The first index. */
  readonly first: Counter;
  /** The distance of a forward loop's end from the end of the elements that existed before the trace. */
  readonly end: number;
  /** Traces one iteration, up to the instruction at which the next one begins. */
  trace(element: () => Variable, index: Variable): void;
  /** Returns the index of the next iteration; null if an iterator counts. Throws if the loop ends in another way. */
  next(): NumberExpr | null;
}

/** Traces the loop for any number of elements. Throws a graph break if iterations do more than compute tensors. */
export function traceRowLoop(t: Tracer, frame: TraceFrame, loop: RowLoop): void {
  const locations = rowLocations(t, frame, loop.test);
  const { others, ...probe } = probeRow(t, loop, locations);
  const joined = others.map((each) => rowsOf(t, each) ?? fail());
  const all = [loop.rows, ...joined];
  const settled = (pushed: readonly NewArrayVariable[]): RowIterations => {
    const unlocked = pushed.map(onlyAppendedTo);
    const trace = new RowIterations(t, loop, { ...probe, all, locations, pushed });
    try {
      return t.tentatively(() => {
        trace.settle();
        return trace;
      });
    } catch (error) {
      if (!(error instanceof AppendsTo)) throw error;
      return settled([...pushed, error.array]);
    } finally {
      for (const unlock of unlocked) unlock();
    }
  };
  const trace = settled(probe.pushed);
  const { order, counters } = probe;
  const isAligned = loop.end > 0;
  const lists = recordRows(t, { all, order, isAligned }, trace.iterations, (left) => {
    trace.leave(left.carried);
  });
  const length = lengthBefore(t, loop.rows.outer) as SymbolicVariable;
  const count = countIterations(t, order, length);
  for (const [i, array] of trace.pushed.entries()) {
    const counts = trace.iterations.map(({ pushed }) => pushed[i]!.length);
    const all = { tensors: lists[i]!, count: totalOf(counts, count) };
    appendForRows(t, array, loop.rows.outer, all);
  }
  for (const [i, counter] of counters) locations[i]!.write(counterAfter(counter, count));
  for (let i = count.next ?? loop.end; i < loop.end; i += order.index.step) {
    visitAppended(t, loop, all, length, i);
  }
}

const fail = (): never => {
  throw differently('reads an element of another array');
};

interface Visited {
  /** The array of the loop, and other arrays whose element at the same index is read. */
  readonly all: readonly Rows[];
  readonly order: RowOrder;
  /** Whether all arrays must have the same length. */
  readonly isAligned: boolean;
}

/** Repeats the last iteration for the remaining elements, and records how to repeat all iterations. */
function recordRows(
  t: Tracer,
  { all, order, isAligned }: Visited,
  iterations: readonly Iteration[],
  leave: (left: IterationResults) => void,
): readonly TensorList[] {
  const columns = all.flatMap((rows) => rows.columns);
  const rowsIn = (lists: readonly (readonly Tensor[])[]) => {
    const [{ length }, ...others] = lists as [readonly Tensor[], ...(readonly Tensor[])[]];
    const isShort = (list: readonly Tensor[]) =>
      isAligned ? list.length !== length : list.length < length;
    if (others.some(isShort)) throw new TapeMismatch();
    const rows = rowsInOrder(lists, order);
    if (rows.length < iterations.length) throw new TapeMismatch();
    return rows;
  };
  const tensors = rowsIn(columns.map(({ recorded }) => recorded));
  const last = iterations.at(-1)!;
  const none = { carried: last.left.map(() => null), pushed: last.pushed.map(() => []) };
  const so = {
    carried: last.left,
    pushed: last.pushed.map((_, i) => iterations.flatMap(({ pushed }) => pushed[i]!)),
  };
  const { length } = iterations;
  const left = t.append(() =>
    repeatFor(tensors, iterations, length, so, { resolver: t.resolver, builder: t.builder }),
  );
  const lists = left.pushed.map((recorded) => new TensorList(recorded));
  const resultsOf = ({ carried }: IterationResults) => carried.filter((_, i) => left.carried[i]);
  t.record(
    [...columns.map((column) => [column]), iterations.flatMap(freeIn)],
    (operands, builder, replay) => {
      const given = rowsIn(operands.slice(0, -1) as Tensor[][]);
      const target = { resolver: resolverOf(replay!), builder, replay };
      const now = repeatFor(given, iterations, 0, none, target);
      for (const [i, list] of lists.entries()) replay!.lists.set(list, now.pushed[i]!);
      return resultsOf(now);
    },
    resultsOf(left),
  );
  leave(left);
  return lists;
}

/** Traces the iteration for an element that the trace appended. */
function visitAppended(
  t: Tracer,
  loop: RowLoop,
  all: readonly Rows[],
  length: SymbolicVariable,
  at: number,
): void {
  const { outer, appended, appendedCount } = loop.rows;
  t.rows = new RowWatch([], null, {
    pushed: new Map(),
    element: (array, key) => {
      const rows = array.kind === 'object' && all.find((each) => each.outer.value === array.value);
      if (!rows || key.kind !== 'symbolic') return undefined;
      return offsetFromLength(outer, key.expr) === at ? rows.appended[at] : undefined;
    },
  });
  try {
    loop.trace(() => appended[at]!, fromEnd(length, at));
  } finally {
    t.rows = null;
  }
  if (appendedCount() !== appended.length) throw differently('changes the array that it goes over');
}
