import { fixedAttr, fixedList } from '../target/attributes.ts';
import type { CommonMappings, TargetCall } from '../target/op-mapping.ts';
import { elementOf, type Reduction, type TargetValue, wideElement } from '../target/target.ts';

/** Reduces the op's last operand. */
function reduced<V extends TargetValue>(name: Reduction, call: TargetCall<V>): V {
  const { to, attrs } = call;
  const x = call.inputs.at(-1)!;
  const dims = attrs.dims === undefined ? [fixedAttr(call, 'dim')] : fixedList(call, 'dims');
  const result = to.reduce(name, to.convert(x, wideElement(x.element)), dims);
  const { shape, dtype } = call.outputs[0]!;
  return to.reshape(to.convert(result, elementOf[dtype]), shape);
}

export const reductionOps: CommonMappings = {
  sum: (call) => reduced('sum', call),
  prod: (call) => reduced('prod', call),
  max: (call) => reduced('max', call),
  min: (call) => reduced('min', call),
  addSum_: (call) => call.to.binary('add', call.inputs[0]!, reduced('sum', call)),
};
