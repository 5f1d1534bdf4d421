/** The options with their defaults: one that is undefined counts as omitted. */
export function withDefaults<D extends object, O extends object>(
  defaults: D,
  given: O,
): D & { [Name in keyof O]-?: Exclude<O[Name], undefined> } {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(entries) } as never;
}
