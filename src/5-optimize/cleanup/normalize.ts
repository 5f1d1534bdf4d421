import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { eliminateDeadCode } from './dead-code.ts';

/** In: a traced program. Out: the same program without dead ops, with values numbered in order. */
export function normalize(traced: Program): Program {
  return renumber({ ...traced, ops: eliminateDeadCode(traced.ops, traced.outputs) });
}

/**
 * In: a program. Out: the same program with values numbered in order: inputs, then results. Guarantees: replaying it op
 * by op assigns every value the same id.
 */
export function renumber(traced: Program): Program {
  const values: Program['values'][number][] = [];
  const renamed = new Map<ValueId, ValueId>();
  const define = (id: ValueId): ValueId => {
    const next = (values.push(traced.values[id]!) - 1) as ValueId;
    renamed.set(id, next);
    return next;
  };
  const use = (id: ValueId): ValueId => renamed.get(id)!;
  const inputs = traced.inputs.map(define);
  const ops = traced.ops.map((op) => ({
    ...op,
    ...(op.before === undefined ? {} : { before: use(op.before) }),
    inputs: op.inputs.map(use),
    outputs: op.outputs.map(define),
  }));
  return { values, inputs, ops, outputs: traced.outputs.map(use) };
}
