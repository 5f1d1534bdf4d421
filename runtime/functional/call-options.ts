import { notAnObject, unknownOption } from '../options/expect-options.ts';

/**
 * Throws ArgumentError if an option passed to a layer's `forward` is not in `names`. Unlike constructor checks, it
 * is traced with the layer.
 */
export function expectCallOptions<O extends object>(
  owner: string,
  options: O,
  names: readonly (keyof O & string)[],
): void {
  if (typeof options !== 'object' || options === null) throw notAnObject(owner, options, names);
  for (const name of Object.keys(options)) {
    if (!(names as readonly string[]).includes(name)) throw unknownOption(owner, name, names);
  }
}
