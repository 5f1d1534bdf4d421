/** Of files with many independent tests, a run of everything takes a quarter of the tests, each day the next. */

import { beforeEach } from 'vitest';
import { isOfDay } from './share-of-day.ts';

/** None of their tests reads what another one has done. */
export const dividedFiles: readonly string[] = [
  'dtypes/operator-dtypes',
  'export/module/module-ops',
  'full-graph/numbers/reads-before-writes',
  'gpu/wgsl/attention',
  'optim/alternating-steps',
  'optimize/budgets/budget-choice',
  'optimize/budgets/measured-forms',
  'optimize/masks-within-budget',
  'plan/aliased-inputs',
  'plan/recompute-scores',
  'run-program/partial-requests',
  'save/damaged',
  'trace/builtins/builtins',
  'trace/state/changing-attributes',
  'training-steps/accumulation',
  'training-steps/never-above-eager',
  'vm/behaviour',
].map((path) => `/test/${path}.test.ts`);

let [file, number] = ['', 0];

beforeEach(({ task, skip }) => {
  const { filepath } = task.file;
  if (!dividedFiles.some((path) => filepath.endsWith(path))) return;
  if (filepath !== file) [file, number] = [filepath, 0];
  if (!isOfDay(number++)) skip('left to other days');
});
