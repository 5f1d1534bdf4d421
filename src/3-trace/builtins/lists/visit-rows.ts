/** `for (const element of list)` and `for (let i = 0; i < list.length; i++)` for lists that grow with every call. */

import { collectionType } from '../../../guards/collection-slots.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { compileReader, type Source } from '../../../guards/source.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import type { InstructionOf, Pc, Reg } from '../../../vm/bytecode/instructions.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import { asCollection, type CollectionVariable } from '../../heap/collections.ts';
import { countsUp, varyingCollection } from '../../heap/varying-collections.ts';
import { asCounter, type Counter } from '../../inputs/row-index.ts';
import { isOfLength } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import { asArray, lengthBefore } from '../../values/arrays.ts';
import { isMadeByElements, offsetFromLength } from '../../values/varying-array.ts';
import type { IteratorVariable } from '../../variables/iterator-variables.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { known, newArray, type ObjectVariable, type Variable } from '../../variables/variable.ts';
import { differently, orByElement, type Rows, rowsOf, rowsOfCollection } from './row-elements.ts';
import { type RowLoop, traceRowLoop } from './row-loops.ts';

/**
 * Traces the loop that begins here, if it visits all elements of such a list. Returns where the trace continues;
 * undefined if the loop is traced element by element.
 */
export function visitRows(
  t: Tracer,
  frame: TraceFrame,
  { dst, iterator, done }: InstructionOf<'iteratorNext'>,
): Pc | undefined {
  const iteration = frame.registers[iterator];
  if (iteration?.kind !== 'iteratorRecord' || iteration.done || iteration.next) return undefined;
  const { iterator: over } = iteration;
  if (over.kind !== 'iterator' || over.next > 0 || over.done) return undefined;
  const { pc } = frame;
  const loop = structureOf(frame.closure.code).loops.get(pc);
  if (!loop) return undefined;
  const visited = elementsOf(t, over);
  if (!visited) return undefined;
  const isTraced = traced(t, frame, loop, visited.rows, (rows) => ({
    rows,
    test: -1,
    first: { start: rows.from, step: 0, from: null },
    end: rows.appended.length,
    trace: (element, index) => {
      frame.registers[dst] = visited.element(element, index);
      traceBody(t, frame, loop, pc, pc + 1);
    },
    next: () => null,
  }));
  if (!isTraced) return undefined;
  t.journal.set(over, 'done', true);
  t.journal.set(iteration, 'done', true);
  return done;
}

interface Visited {
  rows(): Rows | undefined;
  /** Returns what the iterator returns for a row. */
  element(row: () => Variable, index: Variable): Variable;
}

/** Returns what an iterator visits; undefined if the number of elements has not varied. */
function elementsOf(t: Tracer, { over, what }: IteratorVariable): Visited | undefined {
  if (isMadeByElements(t)) return undefined;
  const collection = over.kind === 'object' ? asCollection(t, over, 'Map', 'Set') : undefined;
  if (collection) return entriesIn(t, collection, what);
  if (what === 'keys' || !mayVary(t, over)) return undefined;
  const isSliced = over.kind === 'newArray' && over.extended?.from !== undefined;
  // Its indices are not those of the whole array.
  if (isSliced && what !== 'values') return undefined;
  return {
    rows: () => rowsOf(t, over),
    element: (row, index) => (what === 'values' ? row() : newArray([index, row()])),
  };
}

/** The keys of a Map are known if they count up from 0; the keys of a Set are its elements. */
function entriesIn(
  t: Tracer,
  collection: CollectionVariable,
  what: IteratorVariable['what'],
): Visited | undefined {
  const varying = varyingCollection(t, collection);
  if (!varying) return undefined;
  const rows = () => rowsOfCollection(t, varying);
  if (what === 'values' || (what === 'keys' && collectionType(varying.collection.value) === 'Set'))
    return { rows, element: (row) => row() };
  const { added, values } = varying;
  const isSet = collectionType(varying.collection.value) === 'Set';
  if (!isSet && !countsUp(t, varying.collection)) {
    t.sizes.holdForOneLength(t.position(), 'it reads keys other than 0, 1, 2, …');
    return undefined;
  }
  const keyOf = (row: () => Variable, index: Variable): Variable => {
    if (isSet) return row();
    const at = index.kind === 'symbolic' ? offsetFromLength(values, index.expr) : undefined;
    return at === undefined ? index : added[at]!.key;
  };
  return {
    rows,
    element: (row, index) => {
      const key = keyOf(row, index);
      return what === 'keys' ? key : newArray([key, row()]);
    },
  };
}

/** Like `visitRows`, at a decision that may leave a loop: `inside` and `outside` are its targets. */
export function countRows(
  t: Tracer,
  frame: TraceFrame,
  test: Reg,
  inside: Pc,
  outside: Pc,
): Pc | undefined {
  const decision = frame.registers[test];
  if (decision?.kind !== 'symbolic' || decision.value !== true) return undefined;
  if (t.isInRegion || t.rows || !isOfLength(decision.expr)) return undefined;
  const { pc } = frame;
  const loop = loopAround(frame, inside, outside);
  if (!loop || byElement.get(frame)?.has(pc)) return undefined;
  const bound = boundOf(t, decision.expr);
  if (!bound) {
    t.sizes.holdForOneLength(
      t.position(),
      'its index is not counted up to the length, or down to 0',
    );
    return undefined;
  }
  const { array, first, end } = bound;
  if (!mayVary(t, array)) return undefined;
  const { length } = array.value as readonly unknown[];
  const begin = first.start + (first.from ? length : 0);
  // A loop may begin or end at elements that the trace appended.
  if (begin < 0 || begin >= length + Math.min(end, 0)) return undefined;
  const isTraced = traced(
    t,
    frame,
    loop,
    () => rowsOf(t, array),
    (rows) => ({
      rows,
      test,
      first,
      end: endOf(rows, end),
      trace: () => traceBody(t, frame, loop, pc, inside),
      next: () => {
        const next = frame.registers[test];
        const now = next?.kind === 'symbolic' ? boundOf(t, next.expr) : undefined;
        const isSame = now && sourceKey(now.array.source) === sourceKey(array.source);
        if (!isSame || now.end !== end) throw differently('counts otherwise');
        return now.index;
      },
    }),
  );
  if (!isTraced) {
    byElement.set(frame, new Set(byElement.get(frame)).add(pc));
    return undefined;
  }
  frame.registers[test] = known(false);
  return outside;
}

/** Decisions of loops whose elements can't be traced together, so that iterations don't try again. */
const byElement = new WeakMap<TraceFrame, ReadonlySet<Pc>>();

function endOf({ appended }: Rows, end: number): number {
  if (end > appended.length) throw differently('reads elements behind the last one');
  return end;
}

/** The bound of a loop: `index < array.length` or `index >= 0`. */
interface Bound {
  readonly array: ObjectVariable;
  readonly index: NumberExpr;
  readonly first: Counter;
  /** The distance of a forward loop's end from the length before the trace. */
  readonly end: number;
}

function boundOf(t: Tracer, expr: NumberExpr): Bound | undefined {
  if (expr.kind !== 'apply' || !comparisons.has(expr.fn)) return undefined;
  const [left, right] = expr.args as [NumberExpr, NumberExpr];
  const { isSwapped, plus } = comparisons.get(expr.fn)!;
  const [low, high] = isSwapped ? [right, left] : [left, right];
  const array = arrayOfLength(t, low) ?? arrayOfLength(t, high);
  if (!array) return undefined;
  const length = lengthBefore(t, array);
  if (length.kind !== 'symbolic') return undefined;
  const [below, above] = [asCounter(low, length), asCounter(high, length)];
  if (!below || below.from || !above?.from) return undefined;
  if (isSwapped && below.step === 0 && below.start + 1 === plus) {
    return { array, index: high, first: { ...above, step: 0 }, end: 0 };
  }
  if (above.step !== 0 || below.start < 0) return undefined;
  return { array, index: low, first: { ...below, step: 0 }, end: above.start + plus };
}

/** Comparisons as `low < high + plus`. */
const comparisons: ReadonlyMap<string, { readonly isSwapped: boolean; readonly plus: number }> =
  new Map([
    ['<', { isSwapped: false, plus: 0 }],
    ['<=', { isSwapped: false, plus: 1 }],
    ['>', { isSwapped: true, plus: 0 }],
    ['>=', { isSwapped: true, plus: 1 }],
  ]);

/** Returns the pre-existing array whose length the number is counted from. */
function arrayOfLength(t: Tracer, expr: NumberExpr): ObjectVariable | undefined {
  if (expr.kind === 'apply') return arrayOfLength(t, expr.args[0]!);
  if (expr.kind !== 'source') return undefined;
  const { source } = expr;
  if (source.kind !== 'property' || source.key !== 'length') return undefined;
  const array = t.read(source.base, valueAt(t, source.base));
  return array.kind === 'object' ? array : undefined;
}

const valueAt = (t: Tracer, source: Source): unknown => compileReader(source)(t.entryFrames);

/** Returns the innermost loop that the decision may leave. */
function loopAround({ pc, closure }: TraceFrame, inside: Pc, outside: Pc): Loop | undefined {
  const { loops } = structureOf(closure.code);
  const all = [...loops.values()].filter(({ body }) => body.has(pc));
  const innermost = all.at(-1);
  return innermost?.body.has(inside) && !innermost.body.has(outside) ? innermost : undefined;
}

/** Whether the number of elements has varied between calls. */
function mayVary(t: Tracer, over: Variable): boolean {
  if (t.isInRegion || t.rows || isMadeByElements(t)) return false;
  const array = asArray(t, over);
  if (array?.kind === 'newArray') {
    return array.extended?.isCopy === true || array.extended?.from !== undefined;
  }
  return array?.kind === 'object' && lengthBefore(t, array).kind === 'symbolic';
}

function traced(
  t: Tracer,
  frame: TraceFrame,
  loop: Loop,
  rowsToVisit: () => Rows | undefined,
  loopOver: (rows: Rows) => RowLoop,
): boolean {
  const isTraced = orByElement(t, () => {
    const rows = rowsToVisit();
    if (!rows) return undefined;
    traceRowLoop(t, frame, loopOver(rows));
    return true;
  });
  return isTraced === true;
}

/** Traces an iteration from `from` on, up to the decision at `pc`. */
function traceBody(t: Tracer, frame: TraceFrame, { exits }: Loop, pc: Pc, from: Pc): void {
  frame.pc = from;
  const { targets } = t.execution.runFrom(t.frames.length, new Set([pc, ...exits]));
  if (targets.length > 1 || targets[0] !== pc) throw differently('leaves the loop');
  frame.pc = pc;
}
