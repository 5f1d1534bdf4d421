import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Guard, InheritedProperty } from '../../guards/guard.ts';
import { inheritedProperty } from '../../guards/inherited-property.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { OwnMap } from '../../vm/language/primordials.ts';

/**
 * Properties that a trace has read from prototypes that users can modify: tensor methods and built-in lookups.
 * There is one guard per prototype, and one per pre-existing tensor on which a method was called.
 */
export class InheritedProperties {
  readonly #prototypes = new OwnMap<object, Map<PropertyKey, InheritedProperty>>();
  readonly #tensors = new Map<string, { source: Source; keys: Set<PropertyKey> }>();

  /** Returns the property that the key resolves to on the prototype, and makes the trace depend on it. */
  read(prototype: object, key: string | symbol): InheritedProperty {
    const properties = getOrInsert(this.#prototypes, prototype, () => new Map());
    return getOrInsert(properties, key, () => inheritedProperty(prototype, key));
  }

  /** Requires that the tensor has no own property of this name and is not an instance of a user subclass. */
  expectBare(source: Source, key: PropertyKey): void {
    const base = sourceKey(source);
    const found = getOrInsert(this.#tensors, base, () => ({ source, keys: new Set() }));
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
