/** Returns a number or list as text that differs wherever the values do: zeros of both signs are told apart. */
export function exactText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(exactText).join(',')}]`;
  return Object.is(value, -0) ? '-0' : String(value);
}
