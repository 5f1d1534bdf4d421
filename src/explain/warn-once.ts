const warned = new Set<string>();
let warnings = 0;
const limit = 200; // more would not be read, and the texts take memory

/** Warns on the console, once per text. */
export function warnOnce(text: string): void {
  if (warned.has(text) || warnings >= limit) return;
  warned.add(text);
  warn(text);
}

/** Warns on the console, unless there were too many warnings to read. */
export function warn(text: string): void {
  if (warnings++ < limit) console.warn(`tostatic: ${text}`);
}
