/** Native functions that return another number at each call. */

const { random } = Math;
const instant = Date.now;
// The realm of a script has no `performance`.
const clock = (globalThis as { readonly performance?: Performance }).performance?.now;

/** Whether the value is a function that returns another number at each call. */
export const isNumberCall = (value: unknown): boolean =>
  value === random || value === instant || (value !== undefined && value === clock);
