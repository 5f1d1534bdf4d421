/**
 * Loops over pre-existing arrays that grow with every call. Iterations are traced until each variable that they
 * change is a tensor of the loop; the last one is repeated for all other elements, in this call and in others.
 */

import type { NumberExpr } from '../../../guards/number-expr.ts';
import { countedBy } from '../../inputs/row-index.ts';
import { RowWatch } from '../../inputs/row-watch.ts';
import { DoesNotFit } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import { itemsOf, lengthBefore } from '../../values/arrays.ts';
import { offsetFromLength } from '../../values/varying-array.ts';
import { TensorList } from '../../variables/tensor-list.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { SymbolicVariable, Variable } from '../../variables/variable.ts';
import { freeIn, type Iteration, type Left, repeatFor } from './repeated-rows.ts';
import { differently, type Rows, resolverOf, rowsFrom, rowsOf } from './row-elements.ts';
import { probeRow, RowIterations } from './row-iterations.ts';
import { appendForRows, onlyAppendedTo, rowLocations } from './row-locations.ts';

export interface RowLoop {
  readonly rows: Rows;
  /** The register of the loop's condition; -1 if there is none. */
  readonly test: number;
  /** How many of the values that the trace has appended the loop visits. */
  readonly visited: number;
  /** Traces one iteration, up to the instruction at which the next one begins. */
  trace(element: () => Variable, index: Variable): void;
  /** Throws if the loop may not go on to the next element. */
  expectNext(): void;
}

/** Traces the loop for any number of elements. Throws a graph break if iterations do more than compute tensors. */
export function traceRowLoop(t: Tracer, frame: TraceFrame, loop: RowLoop): void {
  const locations = rowLocations(t, frame, loop.test);
  const { counters, pushed, others } = probeRow(t, loop, locations);
  const joined = others.map((each) => rowsOf(t, each) ?? fail());
  const all = [loop.rows, ...joined];
  const unlocked = pushed.map(onlyAppendedTo);
  const trace = new RowIterations(t, loop, { all, locations, counters, pushed });
  try {
    trace.settle();
  } finally {
    for (const unlock of unlocked) unlock();
  }
  const lists = recordRows(t, all, trace.iterations, loop.visited > 0, (left) => {
    trace.leave(left.carried);
  });
  for (const [i, array] of pushed.entries()) {
    appendForRows(t, array, loop.rows.outer, lists[i]!);
  }
  const length = lengthBefore(t, loop.rows.outer) as SymbolicVariable;
  for (const [i, counter] of counters) {
    locations[i]!.write(countedBy(counter, length.value as number, length.expr));
  }
  for (let i = 0; i < loop.visited; i++) visitAppended(t, loop, all, length, i);
}

const fail = (): never => {
  throw differently('reads an element of another array');
};

/** Repeats the last iteration for the elements behind it, and records how to repeat all of them. */
function recordRows(
  t: Tracer,
  all: readonly Rows[],
  iterations: readonly Iteration[],
  isAligned: boolean,
  leave: (left: Left) => void,
): readonly TensorList[] {
  const columns = all.flatMap((rows) => rows.columns);
  const expectLengths = (lists: readonly (readonly unknown[])[]) => {
    const [{ length }, ...others] = lists as [readonly unknown[], ...(readonly unknown[])[]];
    const isShort = (list: readonly unknown[]) =>
      isAligned ? list.length !== length : list.length < length;
    if (length < iterations.length || others.some(isShort)) throw new DoesNotFit();
  };
  const tensors = columns.map(({ recorded }) => recorded);
  expectLengths(tensors);
  const last = iterations.at(-1)!;
  const none = { carried: last.left.map(() => null), pushed: last.pushed.map(() => []) };
  const so = {
    carried: last.left,
    pushed: last.pushed.map((_, i) => iterations.map(({ pushed }) => pushed[i]!)),
  };
  const { length } = iterations;
  const left = t.append(() =>
    repeatFor(rowsFrom(tensors, 0), iterations, length, so, {
      resolver: t.resolver,
      builder: t.builder,
    }),
  );
  const lists = left.pushed.map((recorded) => new TensorList(recorded));
  const resultsOf = ({ carried }: Left) => carried.filter((_, i) => left.carried[i]);
  t.record(
    [...columns.map((column) => [column]), iterations.flatMap(freeIn)],
    (operands, builder, replay) => {
      const given = operands.slice(0, -1) as (typeof tensors)[number][];
      expectLengths(given);
      const target = { resolver: resolverOf(replay!), builder, replay };
      const now = repeatFor(rowsFrom(given, 0), iterations, 0, none, target);
      for (const [i, list] of lists.entries()) replay!.lists.set(list, now.pushed[i]!);
      return resultsOf(now);
    },
    resultsOf(left),
  );
  leave(left);
  return lists;
}

/** Traces the iteration for an element that the trace has appended. */
function visitAppended(
  t: Tracer,
  loop: RowLoop,
  all: readonly Rows[],
  length: SymbolicVariable,
  at: number,
): void {
  const { outer, appended } = loop.rows;
  const expr: NumberExpr =
    at === 0
      ? length.expr
      : { kind: 'apply', fn: '+', args: [length.expr, { kind: 'constant', value: at }] };
  const value = (length.value as number) + at;
  t.rows = new RowWatch([], null, {
    pushed: new Map(),
    element: (array, key) => {
      const rows = array.kind === 'object' && all.find((each) => each.outer.value === array.value);
      if (!rows || key.kind !== 'symbolic') return undefined;
      return offsetFromLength(outer, key.expr) === at ? rows.appended[at] : undefined;
    },
  });
  try {
    loop.trace(() => appended[at]!, { kind: 'symbolic', expr, value, source: null });
  } finally {
    t.rows = null;
  }
  const content = t.effects.array(outer.value)?.content;
  if (!content || itemsOf(content).length !== appended.length) {
    throw differently('changes the array that it goes over');
  }
}
