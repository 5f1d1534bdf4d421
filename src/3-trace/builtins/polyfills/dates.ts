/** `date.toJSON()` of a Date, which calls the object's own methods. */

export function toJSON(this: Date): string | null {
  return Number.isFinite(Number(this)) ? this.toISOString() : null;
}
