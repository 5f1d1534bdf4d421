import { dimAttr, fixedAttr, fixedList } from '../../target/attributes.ts';
import { addDims, multiplyDims } from '../../target/dims.ts';
import type { Value } from '../emit/emitter.ts';
import type { OpMapping } from '../emit/op-mapping.ts';

const slice: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const dim = fixedAttr(call, 'dim');
  const step = fixedAttr(call, 'step');
  const start = dimAttr(call, 'start');
  const size = outputs[0]!.shape[dim]!;
  const end = addDims(start, multiplyDims(size, step));
  return to.slice(inputs[0]!, dim, start, end, size, step);
};

const flip: OpMapping = (call) => {
  const { to } = call;
  const [x] = call.inputs as [Value];
  const dims = fixedList(call, 'dims');
  if (dims.length === 0) return x;
  const [last, beyond, back] = [-1, -(2 ** 63), -1].map((value) => to.ints(dims.map(() => value)));
  return to.op('Slice', [x, last!, beyond!, to.ints(dims), back!], x.element, x.shape);
};

export const movementOps: Readonly<Record<string, OpMapping>> = { slice, flip };
