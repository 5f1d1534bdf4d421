const warned = new Set<string>();
const limit = 200; // more would not be read, and the texts take memory

/** Tells the user on the console, each text once. */
export function warnOnce(text: string): void {
  if (warned.has(text) || warned.size >= limit) return;
  warned.add(text);
  console.warn(`tostatic: ${text}`);
}
