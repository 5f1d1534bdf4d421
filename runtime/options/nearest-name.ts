/** Returns the known name that a misspelled one probably means; undefined if none is near. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const typed = plain(given);
  let [nearest, least]: [string | undefined, number] = [undefined, Infinity];
  for (const name of known) {
    const distance = editDistance(typed, plain(name));
    if (distance < least) [nearest, least] = [name, distance];
  }
  // If more than a third of the letters differ, it is another word.
  return least <= Math.max(1, Math.floor(given.length / 3)) ? nearest : undefined;
}

/** Ignores case and underscores, so that weight_decay matches weightDecay. */
const plain = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** The Levenshtein distance: the number of letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
