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
 * Returns the program as the fusing passes would write it if no group raised the peak: pointwise ops, rows and updates,
 * in the given order. Close to what runs, so times are estimated from this form.
 */
export function fusedForm(program: Program, staying: ReadonlySet<ValueId>): Program {
  const rows = fusedValues(program, staying);
  return writeGroups(rows, staying, listGroups(rows, everything));
}

/**
 * Returns the fused form without merged updates, which plans short of memory avoid: they keep all gradients live until
 * their launch. Bytes are estimated from this form.
 */
export function fusedValues(program: Program, staying: ReadonlySet<ValueId>): Program {
  const pointwise = withoutShapeReads(allFused(program, staying));
  return writeGroups(
    pointwise,
    staying,
    rowGroups(pointwise, everything, new RowRules(pointwise.values)),
  );
}
