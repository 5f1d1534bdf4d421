/** A saved program as data, part by part, so that programs for several sizes can be compared. */

/** A number or text in a document, with its position. */
interface Leaf {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  /** Whether it may be a different number for other sizes. */
  readonly open: boolean;
}

type Json = Record<string, unknown>;

/** Fields that are planned for the current sizes, and are not compared. */
const planned = new Set([
  ...['frees', 'reuses', 'places', 'freesAtEnd', 'predicted', 'arenaBytes', 'reordered'],
]);

/** Below these, all numbers may differ: shapes, attributes, JavaScript numbers. */
const openBelow = new Set(['values', 'attrs', 'constant', 'shape', 'number', 'randomNumbers']);

/** References below those, which must be equal. */
const closed = new Set(['scalar', 'input', 'args', 'place']);

/** Returns the leaves, in an order that doesn't depend on the order of the steps. */
export function leavesOf(document: unknown): readonly Leaf[] {
  const found: Leaf[] = [];
  visit(document as Json, false, found);
  return found;
}

function visit(value: Json, open: boolean, found: Leaf[]): void {
  const isScalar = Object.hasOwn(value, 'fn') || Object.hasOwn(value, 'input');
  for (const key of keysOf(value)) {
    const item = value[key];
    // The trace-time value of a number that a run computes.
    if (planned.has(key) || (isScalar && key === 'value')) continue;
    const opens = (open || openBelow.has(key)) && !closed.has(key);
    const isLeaf = typeof item !== 'object' || item === null;
    if (isLeaf)
      found.push({
        holder: value,
        key,
        open: opens && !(Array.isArray(value) && key === 'length'),
      });
    else visit((key === 'steps' ? inOrder(item as Json[]) : item) as Json, opens, found);
  }
}

/** Includes the number of elements, so that lists of different lengths differ. */
function keysOf(value: Json): string[] {
  const keys = Object.keys(value);
  return Array.isArray(value) ? [...keys, 'length'] : keys.sort();
}

function inOrder(steps: readonly Json[]): Json[] {
  const named = steps.map((step) => {
    return { step, name: JSON.stringify([step.outputs, step.op, step.inputs]) };
  });
  named.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return named.map(({ step }) => step);
}
