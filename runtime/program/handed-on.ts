/** Operands of control ops that their results may be, or be views of: one memory under two names. */

import type { Program, ProgramOp, ValueId } from './program.ts';

type ControlOp = Pick<ProgramOp, 'op' | 'inputs' | 'outputs' | 'regions'>;

const nothing: readonly ValueId[] = [];

/** Operands of a control op that some result of it may be, or be a view of. */
export function handedOn(op: ControlOp): ValueId[] {
  return [...new Set(op.outputs.flatMap((_, result) => handedOnAs(op, result)))];
}

/** Operands of a control op that result number `result` may be, or be a view of. */
export function handedOnAs(
  { op, inputs, outputs, regions = [] }: ControlOp,
  result: number,
): readonly ValueId[] {
  if (op.kernel.kind !== 'control') return nothing;
  const { form } = op.kernel;
  if (form === 'call') return inputs;
  // A gradient may be one that came in.
  if (form !== 'while' && form !== 'cond') return inputs.slice(1);
  const isTape = result === outputs.length - 1;
  if (isTape) return nothing;
  const isLoop = form === 'while';
  const first = isLoop ? 0 : 1;
  const handed = (isLoop ? regions.slice(1) : regions).flatMap(
    ({ program }) => inputsHandedOn(program)[result]!,
  );
  if (!isLoop) return handed.map((i) => inputs[i + first]!);
  // A carried value may have come from another one's place, iterations before.
  const carried = outputs.length - 1;
  const body = inputsHandedOn(regions[1]!.program);
  const reached = new Set([result, ...handed]);
  for (const i of reached) if (i < carried) for (const each of body[i]!) reached.add(each);
  return [...reached].map((i) => inputs[i]!);
}

/** Programs of regions are looked at again with each order of the program around them. */
const known = new WeakMap<Program, readonly (readonly number[])[]>();

/** Per output of a program: the numbers of the inputs that it may be, or be a view of. */
function inputsHandedOn(program: Program): readonly (readonly number[])[] {
  const existing = known.get(program);
  if (existing) return existing;
  const makers = new Map<ValueId, ProgramOp>();
  for (const op of program.ops) for (const id of op.outputs) makers.set(id, op);
  const reachedFrom = (output: ValueId): ReadonlySet<ValueId> => {
    const reached = new Set([output]);
    // Also those that are added under way.
    for (const id of reached) {
      const maker = makers.get(id);
      if (!maker) continue;
      const { op, inputs, outputs } = maker;
      const from =
        op.kernel.kind === 'view' ? [inputs[0]!] : handedOnAs(maker, outputs.indexOf(id));
      for (const each of from) reached.add(each);
    }
    return reached;
  };
  const numbers = program.outputs.map((output) => {
    const reached = reachedFrom(output);
    return program.inputs.flatMap((id, i) => (reached.has(id) ? [i] : []));
  });
  known.set(program, numbers);
  return numbers;
}
