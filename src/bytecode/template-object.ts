import type { InstructionOf } from './instructions.ts';

const objects = new WeakMap<object, readonly (string | undefined)[]>();

/** What a tagged template hands to its tag: one frozen object per place in the source. */
export function templateObject(
  site: InstructionOf<'templateObject'>,
): readonly (string | undefined)[] {
  let object = objects.get(site);
  if (!object) {
    const strings = [...site.strings];
    Object.defineProperty(strings, 'raw', { value: Object.freeze([...site.raw]) });
    object = Object.freeze(strings);
    objects.set(site, object);
  }
  return object;
}
