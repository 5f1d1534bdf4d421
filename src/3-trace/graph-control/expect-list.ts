import { resolved } from '../choices.ts';
import { absent, type Variable } from '../variable.ts';
import { Grows } from './grown-array.ts';
import type { Place } from './place.ts';

/** An array whose length a turn changes is to be a list before the loop. */
export function expectLength(
  { array, part }: Place,
  now: Variable | null,
  last: Variable,
  isNew: boolean,
): void {
  if (part === 'element' && (now === absent || last === absent)) {
    const sample = [last, now].flatMap((value) => (value ? sampleOf(value) : []))[0];
    if (sample) throw new Grows(array!, sample);
  }
  // It became one in an inner loop.
  if (part !== 'element' && isNew && last.kind === 'list') throw new Grows(array!, last);
}

/** What the element is where it is there. */
function sampleOf(value: Variable): Variable[] {
  const variable = resolved(value);
  if (variable === absent) return [];
  return variable.kind === 'choice' ? variable.options.flatMap(sampleOf) : [variable];
}
