import type { Attrs, AttrValue } from '../device/kernel-op.ts';
import { isChanging } from '../device/symbolic-attrs.ts';
import { isSymbolic } from '../ops/numbers/symbolic-number.ts';

/** Attributes of an op, some of them computed by each run. */
interface ChangingAttrs {
  /** The values as plain numbers: those of the trace until the first update. */
  readonly attrs: Attrs;
  /** The names of the attributes that a run computes. */
  readonly names: readonly string[];
  /** Updates the values; returns whether any number has changed. */
  update(scalars: Float64Array): boolean;
}

/** A location that receives one computed number. */
interface Place {
  readonly id: number;
  value: number;
  put(value: number): void;
}

/** Prepares an op's changing attributes; updating them allocates nothing. */
export function changingAttrs(given: Attrs): ChangingAttrs {
  const names = Object.keys(given).filter((name) => isChanging(given[name]!));
  const attrs: Record<string, AttrValue> = { ...given };
  const places = names.flatMap((name) => placesOf(attrs, name, given[name]!));
  const update = (scalars: Float64Array): boolean => {
    let changed = false;
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!;
      const value = scalars[place.id]!;
      if (Object.is(value, place.value)) continue;
      place.value = value;
      place.put(value);
      changed = true;
    }
    return changed;
  };
  return { attrs: names.length > 0 ? attrs : given, names, update };
}

function placesOf(attrs: Record<string, AttrValue>, name: string, value: AttrValue): Place[] {
  if (isSymbolic(value)) {
    attrs[name] = value.value;
    const put = (number: number) => {
      attrs[name] = number;
    };
    return [{ id: value.id, value: value.value, put }];
  }
  const list = value as readonly number[];
  const numbers = list.map((item) => (isSymbolic(item) ? item.value : item));
  attrs[name] = numbers;
  return list.flatMap((item, i) => {
    if (!isSymbolic(item)) return [];
    const put = (number: number) => {
      numbers[i] = number;
    };
    return [{ id: item.id, value: item.value, put }];
  });
}
