/** Values of a program under construction that may be one tensor in a run. */

import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { whileOp } from '../../runtime/program/control-ops.ts';
import { mayBeList } from '../../runtime/program/list-ops.ts';
import { sharedBy, ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { Region, ValueId } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

const inputsOf = new WeakMap<ProgramBuilder, readonly (readonly ValueId[])[]>();

/** Records inputs of the program that may be the same tensor, in groups. */
export function noteSameInputs(
  builder: ProgramBuilder,
  groups: readonly (readonly ValueId[])[],
): void {
  inputsOf.set(builder, groups);
}

/**
 * Returns the indices of the inputs of a control op's regions that may be the same tensor in a run, in groups; lists
 * are in the groups of their elements.
 */
export function sameOperands(
  builder: ProgramBuilder,
  op: OpRecord,
  inputs: readonly Tensor[],
  regions: readonly Region[],
): readonly (readonly number[])[] {
  const ids = inputs.map((input) => builder.valueOf(input));
  const count = regions.at(-1)!.program.outputs.length;
  // The op is not appended yet: no value has these ids.
  const outputs = Array.from({ length: count + 1 }, (_, i) => (-1 - i) as ValueId);
  const whole = { op, inputs: ids, outputs, attrs: {}, regions };
  const groups = new ValueGroups(
    [...builder.opsFrom(0), whole],
    'tensor',
    inputsOf.get(builder) ?? [],
  );
  const numbers = new Map<ValueId, number[]>();
  const first = op === whileOp ? 0 : 1;
  inputs.forEach((input, i) => {
    if (i < first || !input.requiresGrad) return;
    const group = groups.of(ids[i]!);
    numbers.set(group, [...(numbers.get(group) ?? []), i - first]);
  });
  return [...numbers.values()].filter(({ length }) => length > 1);
}

/** With more candidate tensors for an element, each contribution to one would be compared with too many others. */
const mostNames = 8;

/** Returns the tensors of a program that an element of one of its lists may be, in groups. */
export function sameElements(
  builder: ProgramBuilder,
  tensors: readonly (Tensor | undefined)[],
): readonly (readonly Tensor[])[] {
  const all = tensors.filter((tensor) => tensor?.requiresGrad) as Tensor[];
  const lists = all.filter(mayBeList);
  if (lists.length === 0) return [];
  const groups = new ValueGroups(builder.opsFrom(0), 'tensor', inputsOf.get(builder) ?? []);
  const groupOf = (tensor: Tensor) => groups.of(builder.valueOf(tensor));
  const found = new Map(lists.map((list) => [groupOf(list), new Set<Tensor>()]));
  for (const tensor of all) if (!mayBeList(tensor)) found.get(groupOf(tensor))?.add(tensor);
  return [...found.values()].map((group) => [...group]).filter(({ length }) => length <= mostNames);
}

/** Returns the operands and results of the last op that may be the same tensor, in groups. */
export function sameTensors(
  builder: ProgramBuilder,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): readonly (readonly Tensor[])[] {
  const [op] = builder.opsFrom(builder.opCount - 1);
  const tensors = new Map([...inputs, ...outputs].map((each) => [builder.valueOf(each), each]));
  return sharedBy(op!, 'tensor').map((ids) => ids.map((id) => tensors.get(id)!));
}
