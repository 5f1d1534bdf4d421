import { writtenByFused } from '../ops/expr/fused-body.ts';
import { ValueGroups } from './memory-groups.ts';
import type { Program, ProgramOp } from './program.ts';

/** The fields of an op that determine which operands its regions write. */
type OpWithRegions = Pick<ProgramOp, 'op' | 'regions'>;

const none: readonly number[] = [];

/** Returns the indices of operands whose memory the op changes, itself or in a region. */
export function writtenOperands({ op, regions }: OpWithRegions): readonly number[] {
  if (op.inPlace) return targetOnly;
  if (op.kernel.kind === 'fused') return writtenByFused(op.kernel.body);
  if (op.kernel.kind === 'staged' || op.kernel.kind === 'list') return op.kernel.body.writes;
  if (!regions || op.kernel.kind !== 'control') return none;
  const { form } = op.kernel;
  if (form !== 'cond' && form !== 'while') return none;
  // Operand 0 of `cond` is the condition, which regions don't receive.
  const first = form === 'cond' ? 1 : 0;
  const written = new Set(regions.flatMap(({ program }) => writtenInputs(program)));
  return [...written].map((index) => index + first).sort((a, b) => a - b);
}

const targetOnly: readonly number[] = [0];

type OpList = Pick<Program, 'inputs' | 'ops'>;

const known = new WeakMap<OpList, readonly number[]>();

/** Returns the indices of inputs whose memory the program may write, under any name. */
export function writtenInputs(program: OpList): readonly number[] {
  const existing = known.get(program);
  if (existing) return existing;
  const { ops, inputs } = program;
  const targets = ops.flatMap((op) => writtenOperands(op).map((index) => op.inputs[index]!));
  const groups = targets.length > 0 ? new ValueGroups(ops, 'memory') : null;
  const written = new Set(targets.map((id) => groups!.of(id)));
  const numbers = inputs.flatMap((id, i) => (groups && written.has(groups.of(id)) ? [i] : []));
  known.set(program, numbers);
  return numbers;
}
