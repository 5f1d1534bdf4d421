/** Formats a count with its noun: `1 op`, `2 ops`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
