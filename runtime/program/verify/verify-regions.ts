/** Verifies ops with regions, and their backward ops. */

import { isContiguousMeta } from '../../device/tensor-meta.ts';
import type { PlannedSubgraph } from '../plan.ts';
import type { ControlCheck } from './control-check.ts';

export function verifyCond(check: ControlCheck): void {
  const [test, ...captured] = check.inputs;
  if (!test) check.fail('no condition', 'a boolean');
  check.expectSingle(test);
  for (const region of check.regions(2)) {
    check.expectInputs(region, captured);
    check.expectResults(region, check.results());
  }
}

export function verifyWhileLoop(check: ControlCheck): void {
  const results = check.results();
  const [test, body] = check.regions(2) as [PlannedSubgraph, PlannedSubgraph];
  check.expectInputs(test, check.inputs);
  check.expectInputs(body, check.inputs);
  check.expectResults(body, results);
  check.expectSameLayout('carried value', results, check.inputs.slice(0, results.length));
  const conditions = test.forward.outputs.map((id) => test.values[id]!);
  if (conditions.length !== 1) check.fail(`${conditions.length} conditions`, 'one');
  check.expectSingle(conditions[0]!);
}

export function verifyBackward(check: ControlCheck, forwardName: 'cond' | 'while'): void {
  const { op, regions = [] } = check.step;
  const [tape, ...gradOutputs] = op.inputs;
  const forward = check.forwardOf(forwardName, tape);
  const isSame = forward.regions?.every((region, i) => {
    return region === regions[i] || (region.backward === null && regions[i]?.backward === null);
  });
  if (!isSame || forward.regions?.length !== regions.length) {
    check.fail('other programs', 'those of the operator that it undoes');
  }
  const carried = forwardName === 'while' ? forward.op.outputs.length - 1 : 0;
  if ((op.attrs.carried ?? 0) !== carried)
    check.fail('another number of carried values', String(carried));
  check.verifyGradients(forward.op, gradOutputs);
  // The tape is not among the results of the regions.
  for (const { forward: inner, backward, values } of regions) {
    const strided = [...(backward?.gradInputs ?? [])].find(
      (id) => id !== null && !isContiguousMeta(values[id]!),
    );
    if (strided !== undefined) check.fail(`a strided gradient %${strided}`, 'a contiguous one');
    if (inner.outputs.length !== forward.op.outputs.length - 1 && backward) {
      check.fail('other results', 'those of the operator');
    }
  }
}

export function verifyCall(check: ControlCheck): void {
  const { op, call } = check.step;
  if (!call) check.fail('a call without what is called', 'a function of tensors');
  const { forms, dynamic } = call.call;
  if (forms.length !== op.inputs.length) check.fail(`${op.inputs.length} operands`, forms.join());
  if (check.results().length !== dynamic.length) check.fail('other results', 'those of the call');
  check.expectContiguous([...op.inputs, ...op.outputs]);
}

export function verifyCallBackward(check: ControlCheck): void {
  const { op, call } = check.step;
  const [tape, ...gradOutputs] = op.inputs;
  const forward = check.forwardOf('call', tape);
  if (!call || forward.call?.call.forms.join() !== call.call.forms.join()) {
    check.fail('another call', 'the one that it undoes');
  }
  check.verifyGradients(forward.op, gradOutputs);
}
