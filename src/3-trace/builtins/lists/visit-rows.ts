/** `for (const element of list)` and `for (let i = 0; i < list.length; i++)` for lists that grow with every call. */

import type { NumberExpr } from '../../../guards/number-expr.ts';
import { compileReader, type Source } from '../../../guards/source.ts';
import type { InstructionOf, Pc, Reg } from '../../../vm/bytecode/instructions.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import { asCounter } from '../../inputs/row-index.ts';
import { isOfLength } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import { asArray, lengthBefore } from '../../values/arrays.ts';
import { isMadeByElements, offsetFromLength } from '../../values/varying-array.ts';
import type { IteratorVariable } from '../../variables/iterator-variables.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { known, newArray, type ObjectVariable, type Variable } from '../../variables/variable.ts';
import { differently, orByElement, type Rows, rowsOf } from './row-elements.ts';
import { type RowLoop, traceRowLoop } from './row-loops.ts';

/**
 * Traces the loop that begins here, if it goes over all elements of such a list. Returns where the trace continues;
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
  if (over.kind !== 'iterator' || over.next > 0 || over.done || over.what === 'keys') {
    return undefined;
  }
  const { pc } = frame;
  const loop = structureOf(frame.closure.code).loops.get(pc);
  if (!loop || !mayVary(t, over.over)) return undefined;
  const isTraced = traced(t, frame, loop, over.over as ObjectVariable, (rows) => ({
    rows,
    test: -1,
    visited: rows.appended.length,
    trace: (element, index) => {
      frame.registers[dst] = elementOf(over, element, index);
      traceBody(t, frame, loop, pc, pc + 1);
    },
    expectNext: () => {},
  }));
  if (!isTraced) return undefined;
  t.journal.note(() => {
    over.done = false;
    iteration.done = false;
  });
  over.done = true;
  iteration.done = true;
  return done;
}

function elementOf({ what }: IteratorVariable, element: () => Variable, index: Variable): Variable {
  return what === 'values' ? element() : newArray([index, element()]);
}

/** Likewise at a decision that may leave a loop: `inside` and `outside` are where it leads to. */
export function countRows(
  t: Tracer,
  frame: TraceFrame,
  test: Reg,
  inside: Pc,
  outside: Pc,
): Pc | undefined {
  const decision = frame.registers[test];
  if (decision?.kind !== 'symbolic' || t.isInRegion || t.rows || !isOfLength(decision.expr)) {
    return undefined;
  }
  const { pc } = frame;
  const loop = loopAround(frame, inside, outside);
  if (!loop) return undefined;
  const limit = limitOf(decision.expr, 0, 0);
  const array = limit && arrayOfLength(t, limit);
  const visited = array && offsetFromLength(array, limit);
  if (!array || visited === undefined || visited < 0) {
    t.sizes.holdForOneLength(t.position(), 'its index is not 0, 1, 2 and so on, below the length');
    return undefined;
  }
  if (!mayVary(t, array)) return undefined;
  const isTraced = traced(t, frame, loop, array, (rows) => ({
    rows,
    test,
    visited: Math.min(visited, rows.appended.length),
    trace: () => traceBody(t, frame, loop, pc, inside),
    expectNext: () => {
      const next = frame.registers[test];
      const now = next?.kind === 'symbolic' ? limitOf(next.expr, 1, 1) : undefined;
      if (!now || offsetFromLength(array, now) !== visited) throw differently('counts otherwise');
    },
  }));
  if (!isTraced) return undefined;
  frame.registers[test] = known(false);
  return outside;
}

/** Returns the limit of `index < limit`, if the index is this counter. */
function limitOf(expr: NumberExpr, start: number, step: number): NumberExpr | undefined {
  if (expr.kind !== 'apply' || expr.fn !== '<') return undefined;
  const [index, limit] = expr.args as [NumberExpr, NumberExpr];
  const counter = asCounter(index);
  return counter?.start === start && counter.step === step ? limit : undefined;
}

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
  if (array?.kind === 'newArray') return array.extended?.isCopy === true;
  return array?.kind === 'object' && lengthBefore(t, array).kind === 'symbolic';
}

function traced(
  t: Tracer,
  frame: TraceFrame,
  loop: Loop,
  over: Variable,
  loopOver: (rows: Rows) => RowLoop,
): boolean {
  const isTraced = orByElement(t, () => {
    const rows = rowsOf(t, over);
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
