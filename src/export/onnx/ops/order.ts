import { fixedAttr } from '../../target/attributes.ts';
import type { Value } from '../emit/emitter.ts';
import type { OpMapping } from '../emit/op-mapping.ts';

/** The largest or smallest entries of a dimension in order, with their positions. */
const ordered: OpMapping = (call) => {
  const { to, inputs, outputs, attrs } = call;
  const [x] = inputs as [Value];
  const { shape } = outputs[0]!;
  if (x.shape.length === 0) return [x, to.constant(0, 'i32')];
  const axis = fixedAttr(call, 'dim');
  const wide = x.element === 'i1' || x.element === 'ui8' ? to.convert(x, 'i32') : x;
  const results = [
    { element: wide.element, shape },
    { element: 'i64' as const, shape },
  ];
  const attributes = { axis, largest: attrs.descending ? 1 : 0, sorted: 1 };
  const [values, places] = to.node('TopK', [wide, to.dim(shape[axis]!)], results, attributes) as [
    Value,
    Value,
  ];
  return [to.convert(values, x.element), to.convert(places, 'i32')];
};

export const orderOps: Readonly<Record<string, OpMapping>> = { sort: ordered, topk: ordered };
