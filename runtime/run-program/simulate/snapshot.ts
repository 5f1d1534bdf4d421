import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { Holder } from '../../device/holder.ts';
import { type ListItem, ListMark, TensorList } from '../../device/tensor-list.ts';
import type { PlannedSubgraph } from '../../program/plan.ts';
import { Tape } from '../control/tape.ts';
import type { Scope, Slot } from '../scope/scope.ts';
import { UnknownTape } from './unknown-values.ts';

/** One value of a scope. */
interface LiveValue extends ListItem {
  readonly id: number;
  readonly name: number;
}

/** The contents of a scope in the middle of a run. */
export interface Snapshot {
  readonly values: readonly LiveValue[];
  readonly live: number;
  /** The holders that the caller owns. */
  readonly callers: ReadonlySet<Holder>;
}

export function valuesIn({ slots }: Scope): LiveValue[] {
  const values: LiveValue[] = [];
  for (let id = 0; id < slots.length; id++) {
    const { holder, offset, identity, name } = slots[id]!;
    if (holder) values.push({ id, name, holder, offset, identity });
  }
  return values;
}

/** Copies the values to new memory with the same ownership. */
export function copyOfSnapshot({ values, live, callers }: Snapshot): Snapshot {
  const copies = new Map<Holder, Holder>();
  const copied = values.map(({ id, name, holder, offset, identity }) => {
    return { id, name, holder: copyOf(holder), offset, identity };
  });
  const own = [...callers].flatMap((holder) => copies.get(holder) ?? []);
  return { values: copied, live, callers: new Set(own) };

  function copyOf(holder: Holder): Holder {
    const known = copies.get(holder);
    if (known) return known;
    const copy = emptyCopy(holder);
    copies.set(holder, copy);
    while (copy.owners < holder.owners) copy.retain();
    return copy;
  }

  function itemCopy({ holder, offset, identity, name }: ListItem): ListItem {
    return { holder: copyOf(holder), offset, identity, name };
  }

  function emptyCopy(holder: Holder): Holder {
    const { device } = holder;
    if (holder instanceof TensorList) {
      const list = new TensorList(device);
      for (const item of holder.items) list.items.push(item && itemCopy(item));
      return list;
    }
    if (holder instanceof DynamicTensor) {
      return new DynamicTensor(device, itemCopy(holder.data), holder.shape);
    }
    if (holder instanceof ListMark) return new ListMark(device, holder.index, holder.length);
    if (holder instanceof UnknownTape) return new UnknownTape(device);
    if (!(holder instanceof Tape)) return new Holder(device, holder.bytes);
    const tape = new Tape(device);
    for (let i = 0; i < holder.length; i++) {
      const { region, scope, elements } = holder.at(i);
      const inner = region.take(scope.scalars);
      for (const { id, name, holder: held, offset, identity } of valuesIn(scope)) {
        inner.slots[id]!.put(copyOf(held), offset, identity, name);
      }
      scope.slots.forEach((slot, id) => {
        if (!slot.holder) inner.slots[id]!.name = slot.name;
      });
      tape.push(region, inner, elements);
    }
    return tape;
  }
}

const numbers = new WeakMap<PlannedSubgraph, number>();
let next = 0;

/** Returns a subgraph's number; subgraphs are distinguished by object identity. */
function numberOf(planned: PlannedSubgraph): number {
  let number = numbers.get(planned);
  if (number === undefined) {
    number = next++;
    numbers.set(planned, number);
  }
  return number;
}

/** Returns a key that is equal for slots with the same memory and the same owners. */
export function memoryKey(...all: readonly (readonly Slot[])[]): string {
  const places = new Map<Holder, number>();
  return all.map(slotsKey).join(';');

  function slotsKey(slots: readonly Slot[]): string {
    let key = '';
    slots.forEach(({ holder }, id) => {
      if (holder) key += `${id}:${holderKey(holder)},`;
    });
    return key;
  }

  function holderKey(holder: Holder): string {
    const known = places.get(holder);
    if (known !== undefined) return `@${known}`;
    places.set(holder, places.size);
    let key = `${holder.bytes}/${holder.owners}`;
    if (holder instanceof Tape) {
      for (let i = 0; i < holder.length; i++) {
        const { region, scope: inner, elements } = holder.at(i);
        key += `[${numberOf(region.planned)} ${slotsKey(inner.slots)}`;
        for (const { operand, list, index } of elements) key += ` ${operand}=${list}.${index}`;
        key += ']';
      }
    }
    if (holder instanceof TensorList) {
      key += `(${holder.items.map((item) => (item ? holderKey(item.holder) : '-')).join()})`;
    }
    if (holder instanceof ListMark) key += `#${holder.index}/${holder.length}`;
    if (holder instanceof DynamicTensor) {
      key += `(${holderKey(holder.data.holder)})x${holder.shape.join('x')}`;
    }
    return key;
  }
}
