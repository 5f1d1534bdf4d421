import type { Tracer } from '../state/tracer.ts';
import type { CellVariable, NewArrayVariable, Variable } from '../variables/variable.ts';

/**
 * Writes a cell created in the trace. In sloppy mode, a parameter's cell also writes its element of `arguments`.
 */
export function setCell(t: Tracer, cell: CellVariable, value: Variable): void {
  const { content, element } = cell;
  t.journal.note(() => {
    cell.content = content;
  });
  cell.content = value;
  if (!element) return;
  t.journal.keepList(element.of.elements);
  element.of.elements[element.index] = value;
}

/** Writes an existing element of `arguments`; returns false if there is no such element. */
export function setArgument(
  t: Tracer,
  args: NewArrayVariable,
  index: number,
  value: Variable,
): boolean {
  if (index >= args.elements.length) return false;
  const parameter = args.parameters?.get(index);
  if (parameter) setCell(t, parameter, value);
  else {
    t.journal.keepList(args.elements);
    args.elements[index] = value;
  }
  return true;
}
