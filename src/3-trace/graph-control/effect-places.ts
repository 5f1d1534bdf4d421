/** The places of what is to be done after the run. */

import { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { EffectLog } from '../effects.ts';
import type { Tracer } from '../tracer.ts';
import { known } from '../variable.ts';
import { idOf } from './object-ids.ts';
import { type Add, fixed, type Place } from './place.ts';

export function addEffects(effects: EffectLog, add: Add): void {
  for (const [object, { object: source, key, value }] of effects.entries()) {
    const place: Place = {
      key: `write ${idOf(object)} ${key}`,
      name: `.${key}`,
      register: null,
      isGradient: object instanceof Tensor && key === 'grad',
      set: (t, next) => t.effects.write(object, source, key, next),
      outside: (t) => {
        const value_: unknown = Reflect.get(object, key);
        return t.read({ kind: 'property', base: source, key }, value_);
      },
    };
    add(value ? place : { ...place, set: fixed }, value ?? known('deleted'));
  }
  const count = (key: string, name: string, size: number) =>
    add({ key, name, register: null, set: fixed, outside: () => known(0) }, known(size));
  count('collections', 'the entries of a Map or Set', effects.collectionChanges.length);
}

/** Whether a tensor from before has been given back; of what a way has made itself nobody asks. */
export function addDisposals(t: Tracer, add: Add): void {
  for (const [tensor, { variable, when }] of t.effects.disposed) {
    if (t.isInRegion && !variable.actual && tensor.traced?.builder === t.builder) continue;
    const place: Place = {
      key: `disposed ${idOf(tensor)}`,
      name: 'a disposed tensor',
      register: null,
      set: (_t, next) => t.effects.disposeWhen(variable, next),
      outside: () => known(false),
    };
    add(place, when ?? known(true));
  }
}
