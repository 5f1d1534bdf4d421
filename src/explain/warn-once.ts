const warned = new Set<string>();
const limit = 200; // more would not be read, and the texts take memory

/** Warns on the console, once per text. */
export function warnOnce(text: string): void {
  if (warned.has(text) || warned.size >= limit) return;
  warned.add(text);
  console.warn(`tostatic: ${text}`);
}
