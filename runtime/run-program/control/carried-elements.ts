/**
 * Operands of an iteration that are also elements of a list that the loop carries. All readers of the element run after
 * the iteration, so in backward the iteration adds to their sum, as in eager execution.
 */

import { TensorList } from '../../device/tensor-list.ts';
import { elementSpec, mayBeList } from '../../program/list-ops.ts';
import type { ValueId } from '../../program/program.ts';
import { noName } from '../scope/name.ts';
import { type Scope, Slot } from '../scope/scope.ts';
import type { RegionRun } from './region.ts';

/** An operand that is an element of a carried list at the end of the iteration. */
export interface CarriedElement {
  readonly operand: number;
  readonly list: number;
  readonly index: number;
}

interface Candidate {
  readonly operand: number;
  readonly list: number;
}

export class CarriedElements {
  readonly #inputs: readonly ValueId[];
  readonly #candidates: readonly Candidate[];

  constructor({ planned: { values, forward, backward } }: RegionRun, carried: number) {
    const { inputs, unusedInputs } = forward;
    this.#inputs = inputs;
    const metas = inputs.map((id) => values[id]!);
    const isRead = (i: number) => !unusedInputs.includes(inputs[i]!);
    /** Whether backward continues from an earlier sum. */
    const continuesSum = (i: number) => (backward?.gradOutputs[carried + i] ?? null) !== null;
    const flows = (i: number) => (backward?.gradOutputs[i] ?? null) !== null;
    const lists = metas.flatMap((meta, i) =>
      i < carried && mayBeList(meta) && flows(i) ? [i] : [],
    );
    this.#candidates = metas.flatMap(({ dtype, shape }, operand) => {
      if (lists.length === 0 || !continuesSum(operand) || !isRead(operand)) return [];
      const isElement = (list: number) => {
        const element = elementSpec(metas[list]!);
        return element.dtype === dtype && String(element.shape) === String(shape);
      };
      return lists.filter(isElement).map((list) => ({ operand, list }));
    });
  }

  /** In: the scope after an iteration, and its results. Skips operands that have several names there. */
  find({ slots }: Scope, results: readonly Slot[]): readonly CarriedElement[] {
    const found: CarriedElement[] = [];
    for (const { operand, list } of this.#candidates) {
      const { name } = slots[this.#inputs[operand]!]!;
      const { holder } = results[list]!;
      if (name === noName || !(holder instanceof TensorList)) continue;
      const index = holder.items.findLastIndex((item) => item?.name === name);
      if (index < 0 || found.some((each) => each.operand === operand)) continue;
      const names = this.#inputs.filter((id) => slots[id]!.name === name);
      if (names.length === 1) found.push({ operand, list, index });
    }
    return found;
  }
}

/** Takes the gradient of the element out of its list's gradient; empty if nothing has read the element. */
export function takeElement({ list, index }: CarriedElement, gradients: readonly Slot[]): Slot {
  const taken = new Slot();
  const from = gradients[list]!;
  const before = from.holder;
  const item = before instanceof TensorList ? before.items[index] : null;
  if (!item) return taken;
  const all = before as TensorList;
  taken.put(item.holder.retain(), item.offset);
  if (all.owners > 1) {
    from.put(new TensorList(all.device, all.items), from.offset);
    all.release();
  }
  (from.holder as TensorList).set(index, null);
  return taken;
}
