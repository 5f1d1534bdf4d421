import type { ControlForm } from '../../device/kernel-op.ts';
import type { PlannedSubgraph, Step } from '../plan.ts';
import { ControlCheck } from './control-check.ts';
import type { Fail } from './verify-failure.ts';
import {
  verifyBackward,
  verifyCall,
  verifyCallBackward,
  verifyCond,
  verifyWhileLoop,
} from './verify-regions.ts';
import {
  verifyAssert,
  verifyDimension,
  verifyDraw,
  verifyHostNumber,
  verifyMissing,
  verifyPlain,
  verifyPrint,
} from './verify-scalars.ts';

/**
 * Verifies that a control op's regions take its operands and return its results, and that the backward op runs the
 * backward of the same regions.
 */
export function verifyControl(step: Step, graph: PlannedSubgraph, fail: Fail): void {
  const { kernel } = step.op.op;
  if (kernel.kind !== 'control') return;
  checks[kernel.form](new ControlCheck(step, graph, fail));
}

const checks: { readonly [F in ControlForm]: (check: ControlCheck) => void } = {
  cond: verifyCond,
  while: verifyWhileLoop,
  condBackward: (check) => verifyBackward(check, 'cond'),
  whileBackward: (check) => verifyBackward(check, 'while'),
  assert: verifyAssert,
  print: verifyPrint,
  hostNumber: verifyHostNumber,
  draw: verifyDraw,
  list: verifyPlain,
  call: verifyCall,
  callBackward: verifyCallBackward,
  dimension: verifyDimension,
  missing: verifyMissing,
};
