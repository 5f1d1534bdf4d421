import { invariant } from '../../../errors/invariant.ts';
import { E } from '../../../ops/expr/expr.ts';
import {
  type FusedBody,
  type FusedOperand,
  type FusedPart,
  fusedAttr,
} from '../../../ops/expr/fused-body.ts';
import {
  type Stage,
  type StagedBody,
  type StagePlace,
  stageAttr,
} from '../../../ops/staged-body.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import type { Shape } from '../../../tensor/shape.ts';

/** What follows a product, element by element. */
export interface ProductBody {
  /** The numbers, among the operands of the staged op, of the product's two factors. */
  readonly factors: readonly [left: number, right: number];
  /** Its operands are those of the staged op, and after them the product. */
  readonly body: FusedBody;
  /** The name, among the staged op's attributes, of a part's number. */
  readonly attr: (part: number, name: string) => string;
}

/** A staged op of a product and pointwise ops: its other stages as one body. */
export function productBodyOf(
  { stages, writes }: StagedBody,
  inputs: readonly TensorMeta[],
  counts: { readonly operands: number; readonly results: number },
): ProductBody {
  const [product, ...others] = stages;
  const [left, right] = product!.inputs;
  invariant(left?.kind === 'operand' && right?.kind === 'operand', 'a product of operands');
  const shape = productShape(inputs[left.index]!, inputs[right.index]!);
  const parts: FusedPart[] = [];
  const names: ((name: string) => string)[] = [];
  const latest = new Map<string, FusedOperand>([
    [keyOf(product!.outputs[0]!), { operand: counts.operands }],
  ]);
  const resolve = (place: StagePlace): FusedOperand => {
    const known = latest.get(keyOf(place));
    invariant(known !== undefined || place.kind === 'operand', 'a stage reads what is not made');
    return known ?? { operand: (place as { readonly index: number }).index };
  };
  const add = (part: FusedPart, name: (name: string) => string): FusedOperand => {
    names.push(name);
    return { part: parts.push(part) - 1 };
  };
  for (const stage of others) {
    const { inputs, outputs } = stage;
    const { kernel } = stage.op;
    const own = (name: string) => stageAttr(stage.part, name);
    if (kernel.kind !== 'fused') {
      const dtype = stage.dtypes[inputs.length]!;
      const part = { expr: exprOf(stage), operands: inputs.map(resolve), dtype };
      latest.set(keyOf(outputs[0]!), add(part, own));
      continue;
    }
    const first = parts.length;
    const given = inputs.map(resolve);
    kernel.body.parts.forEach((part, p) => {
      const operands = part.operands.map((from) =>
        'part' in from ? { part: first + from.part } : given[from.operand]!,
      );
      add({ ...part, operands }, (name) => own(fusedAttr(p, name)));
    });
    kernel.body.results.forEach((part, i) => {
      latest.set(keyOf(outputs[i]!), { part: first + part });
    });
    kernel.body.writes.forEach(({ operand, part }) => {
      latest.set(keyOf(inputs[operand]!), { part: first + part });
    });
  }
  /** The part whose value a place has in the end; the product itself is a part where it is a result. */
  const partAt = (place: StagePlace): number => {
    const from = resolve(place);
    if ('part' in from) return from.part;
    const copy = add({ expr: E.input(0), operands: [from], dtype: 'float32' }, (name) => name);
    return (copy as { readonly part: number }).part;
  };
  const results = Array.from({ length: counts.results }, (_, index) =>
    partAt({ kind: 'result', index }),
  );
  return {
    factors: [left.index, right.index],
    body: {
      shape,
      parts,
      results,
      writes: writes.map((operand) => ({
        operand,
        part: partAt({ kind: 'operand', index: operand }),
      })),
    },
    attr: (part, name) => names[part]!(name),
  };
}

/** Of operands that have the same dimensions before the last two, or 1 where they repeat. */
function productShape(left: TensorMeta, right: TensorMeta): Shape {
  const rank = left.shape.length;
  return left.shape.map((size, d) => {
    if (d === rank - 1) return right.shape[d]!;
    return d < rank - 2 ? Math.max(size, right.shape[d]!) : size;
  });
}

function exprOf({ op }: Stage) {
  if (op.kernel.kind === 'pointwise') return op.kernel.expr;
  invariant(op.kernel.kind === 'named' && op.kernel.name === 'copyInto', `${op.name} in a product`);
  return E.input(1);
}

function keyOf(place: StagePlace): string {
  return place.kind === 'inner' ? `inner ${place.slot}` : `${place.kind} ${place.index}`;
}
