import type { Location } from '../../state/location.ts';
import type { Tracer } from '../../state/tracer.ts';
import { resolved } from '../../variables/unions.ts';
import { absent, type Variable } from '../../variables/variable.ts';
import { bornAt, expectForm, Grows } from './growable-array.ts';
import { joinAll } from './list-tree-spec.ts';

/** Requires that an array whose length changes in an iteration is a list before the loop. */
export function expectLength(
  t: Tracer,
  { array, part, form }: Location,
  now: Variable | null,
  last: Variable,
  isNew: boolean,
): void {
  if (part === 'element' && (now === absent || last === absent)) {
    const samples = [last, now].flatMap((value) => (value ? samplesOf(value) : []));
    const forms = samples.map((sample) => expectForm(t, sample, bornAt(array!)));
    if (forms.length > 0) throw new Grows(array!, joinAll(t, forms) ?? forms[0]!);
  }
  // The array became a list in an inner loop.
  if (part !== 'element' && isNew && form) throw new Grows(array!, form);
}

/** Returns the possible values of an element that may be absent. */
export function samplesOf(value: Variable): Variable[] {
  const variable = resolved(value);
  if (variable === absent) return [];
  return variable.kind === 'union' ? variable.options.flatMap(samplesOf) : [variable];
}
