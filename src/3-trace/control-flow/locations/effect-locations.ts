/** Locations of effects that happen after the run. */

import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { accessorOf } from '../../../guards/plain.ts';
import type { Source } from '../../../guards/source.ts';
import { keyText } from '../../../guards/source-key.ts';
import { OwnMap } from '../../../vm/language/primordials.ts';
import type { EffectLog } from '../../effects/effects.ts';
import { agreedLastKeys, asVariable } from '../../effects/last-keys.ts';
import type { Add, Location } from '../../state/location.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { absent, known, type Variable } from '../../variables/variable.ts';

export function addEffects(effects: EffectLog, add: Add): void {
  const sources = new OwnMap<object, Source>();
  for (const [object, { object: source, key, value }] of effects.entries()) {
    sources.set(object, source);
    const location: Location = {
      key: `write ${idOf(object)} ${keyText(key)}`,
      name: `.${String(key)}`,
      register: null,
      isGradient: object instanceof Tensor && key === 'grad',
      set: (t, next) => t.effects.write(object, source, key, next),
      outside: (t) => valueBefore(t, object, source, key),
    };
    add(location, value);
  }
  for (const [object, source] of sources) {
    // Variables have no keys: where paths merge, writing the value that a variable has anyway is no change.
    const hasKeys = !(object instanceof Tensor) && !variables.has(source.kind);
    if (hasKeys) addOrder(effects, object, source, add);
  }
}

/** Sources whose value always exists in their holder: variables and private fields. */
const variables: ReadonlySet<Source['kind']> = new Set([
  'held',
  'outerCell',
  'closureCell',
  'private',
]);

function valueBefore(t: Tracer, object: object, source: Source, key: string | symbol): Variable {
  if (!(object instanceof Tensor) && !accessorOf(object, key)) {
    const has = Object.hasOwn(object, key);
    const owned = { kind: 'hasProperty', base: source, key, own: true } as const;
    if (!variables.has(source.kind)) constantOf(t, t.read(owned, has));
    if (!has) return absent;
  }
  const value: unknown = Reflect.get(object, key);
  return t.read({ kind: 'property', base: source, key }, value);
}

/** Adds the order of keys that are new or were deleted before being written. */
function addOrder(effects: EffectLog, object: object, source: Source, add: Add): void {
  const location: Location = {
    key: `order ${idOf(object)}`,
    name: 'the order of the keys of a pre-existing object',
    register: null,
    set: (t, next) => t.effects.setOrder(object, source, next),
    outside: () => asVariable({ last: [], gone: [] }),
    agreed: (orders) => agreedLastKeys(orders, object),
  };
  add(location, effects.orderOf(object));
}

/** Adds whether each pre-existing tensor has been disposed. Tensors created on a path don't count. */
export function addDisposals(t: Tracer, add: Add): void {
  for (const [tensor, { variable, when }] of t.effects.disposed) {
    if (t.isInRegion && !variable.actual && tensor.traced?.builder === t.builder) continue;
    const location: Location = {
      key: `disposed ${idOf(tensor)}`,
      name: 'a disposed tensor',
      register: null,
      set: (_t, next) => t.effects.disposeWhen(variable, next),
      outside: () => known(false),
    };
    add(location, when ?? known(true));
  }
}
