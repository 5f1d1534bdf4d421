import type { TakenPath } from '../../runtime/program/higher-order-gradients.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { inlinePath } from '../4-differentiate/inline-path.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { copiesOfEqual } from './copies-of-equal.ts';
import type { Making } from './higher-order-gradients.ts';
import { keptMasks } from './kept-masks.ts';

/**
 * Restricts the program to one path: branches and loops are replaced by their ops on it, which makes the program
 * straight-line for gradients of gradients. Values get new ids; values that only the planned program has come last.
 */
export function onlyOn(making: Making, stages: SubgraphStages, path: TakenPath): Making {
  const { traced, planned } = stages;
  const { program, numbers, keptAt } = inlinePath(traced, planned, path);
  const [before, count] = [traced.values.length, program.values.length];
  const numberOf = (id: ValueId): ValueId =>
    id < before ? numbers.get(id)! : ((id - before + count) as ValueId);
  const added = planned.values.slice(before);
  const places = [...keptAt, ...added.map((_, i) => [{ frame: 0, id: (before + i) as ValueId }])];
  const kept = new Set<ValueId>();
  for (const id of making.kept) if (id >= before) kept.add(numberOf(id));
  keptAt.forEach((all, id) => {
    if (all.length > 0) kept.add(id as ValueId);
  });
  const values = [...program.values, ...added];
  return {
    ...making,
    forward: program,
    numberOf,
    kept,
    masks: { ...keptMasks(stages, making.kept, numberOf), values },
    onPath: { values, inputs: program.inputs, outputs: program.outputs, keptAt: places },
    restoring: () => {
      const found = making.restoring();
      const ops = found.ops.flatMap((op) => {
        const inputs = op.inputs.map(numberOf);
        const outputs = op.outputs.map(numberOf);
        const isOnPath = [...inputs, ...outputs].every((id) => id !== undefined);
        return isOnPath ? [{ ...op, inputs, outputs }] : [];
      });
      return {
        values: [...program.values, ...found.values.slice(before)],
        ops: [...ops, ...copiesOfEqual(program, kept)],
      };
    },
  };
}
