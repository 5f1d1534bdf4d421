/**
 * The ops by name, for programs: their files and passes name ops that no function of a page calls. This module refers
 * to all ops; code that needs only some loads their families (`op-families.ts`).
 */

import { invariant } from '../errors/invariant.ts';
import { arrangingOps } from './families/arranging.ts';
import { commonOps } from './families/common.ts';
import { comparisonsOps } from './families/comparisons.ts';
import { convolutionOps } from './families/convolution.ts';
import { coreOps } from './families/core.ts';
import { elementwiseOps } from './families/elementwise.ts';
import { indexingOps } from './families/indexing.ts';
import { ordersOps } from './families/orders.ts';
import { poolingOps } from './families/pooling.ts';
import { productsOps } from './families/products.ts';
import { rareOps } from './families/rare.ts';
import { softmaxOps } from './families/softmax.ts';
import { standardizationOps } from './families/standardization.ts';
import { type OpRecord, opsIn } from './record/define-op.ts';

/** All records by name, in the order of definition. */
export const opTable: ReadonlyMap<string, OpRecord> = opsIn(
  coreOps,
  commonOps,
  productsOps,
  softmaxOps,
  arrangingOps,
  indexingOps,
  comparisonsOps,
  elementwiseOps,
  convolutionOps,
  poolingOps,
  standardizationOps,
  ordersOps,
  rareOps,
);

export function opNamed(name: string): OpRecord {
  const op = opTable.get(name);
  invariant(op !== undefined, `no op named ${name}`);
  return op;
}
