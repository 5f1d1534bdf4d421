import type { Tracer } from '../state/tracer.ts';
import type { CellVariable, NewArrayVariable, Variable } from '../variables/variable.ts';

/**
 * Writes a cell created in the trace. In sloppy mode, a parameter's cell also writes its element of `arguments`.
 */
export function setCell(t: Tracer, cell: CellVariable, value: Variable): void {
  const { element } = cell;
  t.journal.set(cell, 'content', value, cell);
  if (!element) return;
  t.journal.keepList(element.of.elements);
  element.of.elements[element.index] = value;
}

/**
 * Writes an element of `arguments`. An element that was not passed becomes a property, which no parameter shares and
 * the length doesn't count; returns false where that isn't supported.
 */
export function setArgument(
  t: Tracer,
  args: NewArrayVariable,
  index: number,
  value: Variable,
): boolean {
  if (index >= args.elements.length) {
    if (t.isInRegion) return false;
    const { named = new Map<string, Variable>() } = args;
    const entries = [...named].filter(([key]) => key !== String(index));
    entries.push([String(index), value]);
    const sorted = new Map(entries.sort(([a], [b]) => Number(a) - Number(b)));
    t.journal.set(args, 'named', sorted);
    return true;
  }
  const parameter = args.parameters?.get(index);
  if (parameter) setCell(t, parameter, value);
  else {
    t.journal.keepList(args.elements);
    args.elements[index] = value;
  }
  return true;
}
