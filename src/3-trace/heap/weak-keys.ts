/** Keys of weak collections. */

import { orRaise } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { specialized } from '../variables/unions.ts';
import type { Variable } from '../variables/variable.ts';

type WeakType = 'WeakMap' | 'WeakSet' | 'WeakRef';

const holdWeakly: Readonly<Record<WeakType, (value: WeakKey) => unknown>> = {
  WeakMap: (value) => new WeakMap().set(value, 0),
  WeakSet: (value) => new WeakSet().add(value),
  WeakRef: (value) => new WeakRef(value),
};

/** Throws the error of a weak collection whose key is a primitive. */
export function expectHeldWeakly(t: Tracer, type: WeakType, variable: Variable): void {
  const key = specialized(variable);
  if (key.kind !== 'constant' && key.kind !== 'symbolic') return;
  const value = constantOf(t, key) as unknown as WeakKey;
  orRaise(t, () => holdWeakly[type](value));
}
