import { formatSpec } from '../../../../runtime/device/tensor-meta.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import { resolved } from '../../variables/unions.ts';
import type { Variable } from '../../variables/variable.ts';
import { classOf } from './variable-class.ts';

/**
 * Checks that a function's result has one structure, dtype and shape wherever it exists. Throws a break that names what
 * differs, and where it comes from.
 */
export function expectOneStructure(t: Tracer, returned: Variable): void {
  const seen = new Set<Variable>();
  const visit = (given: Variable): void => {
    const variable = resolved(given);
    if (seen.has(variable)) return;
    seen.add(variable);
    if (variable.kind === 'newArray' && !variable.grown) variable.elements.forEach(visit);
    if (variable.kind === 'newObject') [...variable.entries.values()].forEach(visit);
    if (variable.kind !== 'union') return;
    const structures = variable.options.filter(hasStructure);
    const classes = new Set(structures.map((option) => structureOf(t, option)));
    if (classes.size > 1) throw new GraphBreak('branch-mismatch', variable.from);
    variable.options.forEach(visit);
  };
  visit(returned);
}

/** Tensors of one dtype and shape may lie in memory differently. */
function structureOf(t: Tracer, option: Variable): string {
  return option.kind === 'tensor' ? formatSpec(t.use(option)) : classOf(t, option, () => false);
}

const hasStructure = ({ kind }: Variable): boolean =>
  kind === 'tensor' ||
  kind === 'dynamic' ||
  kind === 'newArray' ||
  kind === 'newObject' ||
  kind === 'newCollection';
