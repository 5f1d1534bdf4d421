import type { Device } from '../../device/device.ts';
import type { Holder } from '../../device/holder.ts';
import { type ListItem, ListMark, TensorList } from '../../device/tensor-list.ts';
import { InvariantError, invariant } from '../../errors/invariant.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import type { Action } from '../scope/action.ts';
import { ownPlace } from '../scope/identity.ts';
import { nameValue, noName } from '../scope/name.ts';
import type { Slot } from '../scope/scope.ts';
import { decided } from './decisions.ts';
import { GradientSum } from './gradients.ts';
import { readNumber } from './read-number.ts';

/** Compiles an op on lists. */
export function compileList(step: Step, values: ValueTable): Action {
  const { name } = step.op.op;
  const compile = actions[name];
  if (!compile) throw new InvariantError(`${name} is not an op on lists`);
  return compile(new ListStep(step, values));
}

const actions: Readonly<Record<string, (step: ListStep) => Action>> = {
  listOf: (step) => (slots) => {
    step.put(slots, new TensorList(step.device, step.operands(slots).map(namedItem)));
  },
  listPush: (step) => (slots) => {
    const list = step.own(slots);
    list.push(namedItem(step.operand(slots, 1)));
    step.put(slots, list);
  },
  listPop: (step) => (slots) => {
    const list = step.own(slots);
    list.pop();
    step.put(slots, list);
  },
  listAt: (step) => (slots) => {
    const { items } = step.list(slots);
    const index = step.index(slots);
    decided.current?.note(index);
    const item = items[index];
    invariant(item, 'a list has the element that is read');
    step.put(slots, item.holder.retain(), item.offset, item.identity, item.name);
    step.mark(slots, index, items.length);
  },
  listSet: (step) => (slots) => {
    const list = step.own(slots);
    const index = step.index(slots);
    decided.current?.note(index);
    list.set(index, namedItem(step.operand(slots, 2)));
    step.put(slots, list);
    step.mark(slots, index, list.items.length);
  },
  listConcat: (step) => (slots) => {
    const tail = [...step.list(slots, 1).items];
    const list = step.own(slots);
    const { length } = list.items;
    for (const item of tail) list.push(item);
    step.put(slots, list);
    step.mark(slots, length, list.items.length);
  },
  listGradientAt: (step) => {
    const index = step.attr('index');
    return (slots) => step.gradient(slots, index);
  },
  listDrop: (step) => (slots) => step.gradients(slots, (list) => list.pop()),
  listExtend: (step) => (slots) => step.gradients(slots, (list) => list.push(null)),
  listPut: (step) => (slots) => {
    const { index, length } = step.readMark(slots, 0);
    const list = new TensorList(step.device, new Array<null>(length).fill(null));
    list.set(index, itemOf(step.operand(slots, 1)));
    step.put(slots, list);
  },
  listClear: (step) => (slots) => {
    const { index } = step.readMark(slots, 1);
    step.gradients(slots, (list) => list.set(index, null));
  },
  listTake: (step) => (slots) => step.gradient(slots, step.readMark(slots, 1).index),
  listHead: (step) => (slots) => {
    const { index } = step.readMark(slots, 1);
    step.gradients(slots, (list) => {
      while (list.items.length > index) list.pop();
    });
  },
  listTail: (step) => (slots) => {
    const { index } = step.readMark(slots, 1);
    step.put(slots, new TensorList(step.device, step.list(slots).items.slice(index)));
  },
  listAdd: (step) => {
    const sum = new GradientSum(step.resultMeta);
    return (slots) => {
      try {
        sum.add(step.operand(slots, 0));
        sum.add(step.operand(slots, 1));
        sum.moveTo(step.result(slots));
      } finally {
        sum.release();
      }
    };
  },
};

const itemOf = ({ holder, offset, identity }: Slot): ListItem => ({
  holder: holder!,
  offset,
  identity,
});

/** An element of a list of values; gradients have no names. */
function namedItem(slot: Slot): ListItem {
  nameValue(slot);
  return { ...itemOf(slot), name: slot.name };
}

/** The operands and results of one op on lists. */
class ListStep {
  readonly device: Device;
  readonly #inputs: readonly ValueId[];
  readonly #outputs: readonly ValueId[];
  readonly #step: Step;
  readonly #values: ValueTable;
  /** Whether this step is the list's last use. */
  readonly #dies: boolean;

  constructor(step: Step, values: ValueTable) {
    const { inputs, outputs } = step.op;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#step = step;
    this.#values = values;
    this.device = values[outputs[0]!]!.device;
    this.#dies = inputs.length > 0 && step.frees.includes(inputs[0]!);
  }

  attr(name: string): number {
    return this.#step.op.attrs[name] as number;
  }

  get resultMeta() {
    return this.#values[this.#outputs[0]!]!;
  }

  result(slots: readonly Slot[]): Slot {
    return slots[this.#outputs[0]!]!;
  }

  operand(slots: readonly Slot[], index: number): Slot {
    return slots[this.#inputs[index]!]!;
  }

  operands(slots: readonly Slot[]): Slot[] {
    return this.#inputs.map((id) => slots[id]!);
  }

  list(slots: readonly Slot[], index = 0): TensorList {
    const { holder } = this.operand(slots, index);
    invariant(holder instanceof TensorList, 'an operand is a list');
    return holder;
  }

  /** Returns the list to modify: the list itself if it is not shared, else a copy. */
  own(slots: readonly Slot[]): TensorList {
    const list = this.list(slots);
    if (!this.#dies || list.owners > 1) return new TensorList(this.device, list.items);
    this.operand(slots, 0).holder = null;
    return list;
  }

  /** Reads operand 1, an index. */
  index(slots: readonly Slot[]): number {
    const meta = this.#values[this.#inputs[1]!]!;
    return readNumber(meta, this.operand(slots, 1));
  }

  put(
    slots: readonly Slot[],
    holder: Holder,
    offset = 0,
    identity = ownPlace,
    name = noName,
  ): void {
    this.result(slots).put(holder, offset, identity, name);
  }

  mark(slots: readonly Slot[], index: number, length: number): void {
    slots[this.#outputs[1]!]!.put(new ListMark(this.device, index, length), 0);
  }

  readMark(slots: readonly Slot[], operand: number): ListMark {
    const { holder } = this.operand(slots, operand);
    invariant(holder instanceof ListMark, 'an operand is the mark of a list');
    return holder;
  }

  /** Returns a modified list of gradients. */
  gradients(slots: readonly Slot[], change: (list: TensorList) => void): void {
    const list = this.own(slots);
    change(list);
    this.put(slots, list);
  }

  /** Returns the gradient of one element, if there is one. */
  gradient(slots: readonly Slot[], index: number): void {
    const item = this.list(slots).items.at(index);
    if (item) this.put(slots, item.holder.retain(), item.offset);
  }
}
