/** Returns the options with defaults; an undefined option counts as omitted. */
export function withDefaults<D extends object, O extends object>(
  defaults: D,
  options: O,
): D & { [Name in keyof O]-?: Exclude<O[Name], undefined> } {
  const all = { ...defaults, ...options } as D;
  for (const name in defaults) all[name] ??= defaults[name];
  return all as never;
}
