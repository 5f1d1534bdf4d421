/** Returns a number or list as text that is equal only for identical values: 0 and −0 differ. */
export function exactText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(exactText).join(',')}]`;
  return Object.is(value, -0) ? '-0' : String(value);
}
