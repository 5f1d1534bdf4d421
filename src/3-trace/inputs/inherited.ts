import type { Guard, InheritedProperty } from '../../guards/guard.ts';
import { inheritedProperty } from '../../guards/inherited-property.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { OwnMap } from '../../vm/language/primordials.ts';

/**
 * The properties that a trace has read from prototypes that the user may change: methods of tensors and the language's
 * own look-ups. There is one guard for each prototype, and one for each pre-existing tensor that a method was called
 * on.
 */
export class InheritedProperties {
  readonly #prototypes = new OwnMap<object, Map<PropertyKey, InheritedProperty>>();
  readonly #tensors = new Map<string, { source: Source; keys: Set<PropertyKey> }>();

  /** Returns the property that the name leads to on the prototype; the trace depends on it from now on. */
  read(prototype: object, key: string | symbol): InheritedProperty {
    let properties = this.#prototypes.get(prototype);
    if (!properties) {
      properties = new Map();
      this.#prototypes.set(prototype, properties);
    }
    let found = properties.get(key);
    if (!found) {
      found = inheritedProperty(prototype, key);
      properties.set(key, found);
    }
    return found;
  }

  /** The tensor there has nothing of its own by this name, and is of no class of the user's. */
  expectBare(source: Source, key: PropertyKey): void {
    const place = sourceKey(source);
    let found = this.#tensors.get(place);
    if (!found) {
      found = { source, keys: new Set() };
      this.#tensors.set(place, found);
    }
    found.keys.add(key);
  }

  guards(): Guard[] {
    const prototypes = [...this.#prototypes].map(([value, properties]): Guard => {
      const source: Source = { kind: 'held', value, name: nameOf(value) };
      return { kind: 'prototype', source, properties: [...properties.values()] };
    });
    const tensors = [...this.#tensors.values()].map(({ source, keys }): Guard => {
      return { kind: 'bare', source, keys: [...keys] };
    });
    return [...prototypes, ...tensors];
  }
}

function nameOf(prototype: object): string {
  const type: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  if (typeof type === 'function' && type.name) return `${type.name}.prototype`;
  const tag: unknown = Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)?.value;
  return typeof tag === 'string' ? `the prototype of every ${tag}` : 'a prototype';
}
