/** `date.toJSON()`, which calls the object's own methods. */

export function toJSON(this: { toISOString(): string }): string | null {
  const time: unknown = this as unknown;
  const number = typeof time === 'object' ? Number(time) : time;
  if (typeof number === 'number' && !Number.isFinite(number)) return null;
  return this.toISOString();
}
