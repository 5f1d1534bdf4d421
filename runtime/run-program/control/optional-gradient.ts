import { earlierSum, isThere } from '../../program/optional-gradients.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action } from '../scope/action.ts';
import { Filled } from './gradients.ts';

/** Compiles `isThere`, `fillMissing` and `earlierSum`. */
export function compileOptionalGradient({ op }: Step, values: ValueTable): Action {
  if (op.op === earlierSum) return () => {};
  const [gradient, ...others] = op.inputs;
  const [result] = op.outputs;
  const meta = values[result!]!;
  if (op.op === isThere) {
    const [no, yes] = [new Filled(meta, 0), new Filled(meta, 1)];
    return (slots) => (slots[gradient!]!.holder ? yes : no).fill(slots[result!]!);
  }
  const zeros = new Filled(meta, 0);
  return (slots) => {
    const { holder, offset } = slots[gradient!]!;
    if (holder) slots[result!]!.put(holder.retain(), offset);
    else if (others.length === 0 || others.some((id) => slots[id]!.holder)) {
      zeros.fill(slots[result!]!);
    }
  };
}
