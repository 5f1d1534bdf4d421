import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { writeGroups } from './fuse-groups.ts';
import { allFused } from './fuse-pointwise.ts';
import { rowGroups } from './fuse-rows.ts';
import type { GroupOptions } from './groups.ts';
import { listGroups } from './list-groups.ts';
import { withoutShapeReads } from './read-shapes.ts';
import { RowRules } from './row-groups.ts';

const everything: GroupOptions = { fixed: new Set(), sourcesOf: () => 0n, adjacent: false };

/**
 * The program as the fusing passes make it where no group raises the peak: pointwise ops, rows and updates, in the
 * order that the program has. What runs is close to it, so that times are estimated of this form.
 */
export function fusedForm(given: Program, staying: ReadonlySet<ValueId>): Program {
  const rows = fusedValues(given, staying);
  return writeGroups(rows, staying, listGroups(rows, everything));
}

/**
 * The same without updates as one launch, which keep all gradients until then: what is to need few bytes has no such
 * updates. Bytes are estimated of this form.
 */
export function fusedValues(given: Program, staying: ReadonlySet<ValueId>): Program {
  const pointwise = withoutShapeReads(allFused(given, staying));
  return writeGroups(
    pointwise,
    staying,
    rowGroups(pointwise, everything, new RowRules(pointwise.values)),
  );
}
