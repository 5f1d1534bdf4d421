/** The options with their defaults: one that is undefined counts as omitted. */
export function withDefaults<D extends object, O extends object>(
  defaults: D,
  given: O,
): D & { [Name in keyof O]-?: Exclude<O[Name], undefined> } {
  const all = { ...defaults } as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) if (value !== undefined) all[name] = value;
  return all as ReturnType<typeof withDefaults<D, O>>;
}
