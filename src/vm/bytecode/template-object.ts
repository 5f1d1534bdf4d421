import type { InstructionOf } from './instructions.ts';

// Saved when this file is loaded, since user code may replace them.
const { apply, defineProperty } = Reflect;
const { freeze } = Object;
const { get: getFrom, set: setIn } = WeakMap.prototype;
const objects = new WeakMap<object, readonly (string | undefined)[]>();

/** Returns the object that a tagged template passes to its tag: one frozen object per source location. */
export function templateObject(
  site: InstructionOf<'templateObject'>,
): readonly (string | undefined)[] {
  let object = apply(getFrom, objects, [site]) as ReturnType<typeof templateObject> | undefined;
  if (!object) {
    const strings = [...site.strings];
    defineProperty(strings, 'raw', { __proto__: null, value: freeze([...site.raw]) } as object);
    object = freeze(strings);
    apply(setIn, objects, [site, object]);
  }
  return object;
}
