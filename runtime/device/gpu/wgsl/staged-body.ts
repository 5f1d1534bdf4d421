import { invariant } from '../../../errors/invariant.ts';
import { E } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import {
  type FusedBody,
  type FusedOperand,
  type FusedPart,
  fusedAttr,
} from '../../../ops/expr/fused-body.ts';
import type { DType } from '../../../spec/dtype.ts';
import type { Attrs, KernelOp } from '../../kernel-op.ts';
import { type Stage, type StagedBody, type StagePlace, stageAttr } from '../../staged-body.ts';
import type { TensorMeta } from '../../tensor-meta.ts';

/** The elementwise ops that follow another op, the head. */
export interface HeadBody {
  /** Indices of the head's operands among those of the whole op. */
  readonly reads: readonly number[];
  /** Its operands are those of the whole op, followed by the head's result. */
  readonly body: FusedBody;
  /** The dtype of the head's result. */
  readonly dtype: DType;
  /** Returns the name, in the whole op, of a part's attribute. */
  readonly attr: (part: number, name: string) => string;
}

/** A staged op's head, and its other stages as one body. */
interface Headed {
  readonly op: KernelOp;
  readonly inputs: readonly TensorMeta[];
  readonly attrs: Attrs;
  readonly body: HeadBody;
}

export function headedOf(
  { stages, writes }: StagedBody,
  metas: readonly TensorMeta[],
  resultCount: number,
  attrs: Attrs,
): Headed {
  const [head, ...others] = stages;
  invariant(head !== undefined, 'a staged op without stages');
  const reads = head.inputs.map((place) => {
    invariant(place.kind === 'operand', `${head.op.name} of what is no operand`);
    return place.index;
  });
  const inputs = reads.map((index) => metas[index]!);
  const headAttrs = ownAttrs(attrs, head.part);
  const { shape } = head.op.infer(inputs, headAttrs)[0]!;
  const parts: FusedPart[] = [];
  const names: ((name: string) => string)[] = [];
  const latest = new Map<string, FusedOperand>([
    [keyOf(head.outputs[0]!), { operand: metas.length }],
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
    const attrText = (name: string) => stageAttr(stage.part, name);
    if (kernel.kind !== 'fused') {
      const dtype = stage.dtypes[inputs.length]!;
      const part = { expr: exprOf(stage), operands: inputs.map(resolve), dtype };
      latest.set(keyOf(outputs[0]!), add(part, attrText));
      continue;
    }
    const first = parts.length;
    const read = inputs.map(resolve);
    kernel.body.parts.forEach((part, p) => {
      const operands = part.operands.map((from) =>
        'part' in from ? { part: first + from.part } : read[from.operand]!,
      );
      add({ ...part, operands }, (name) => attrText(fusedAttr(p, name)));
    });
    kernel.body.results.forEach((part, i) => {
      latest.set(keyOf(outputs[i]!), { part: first + part });
    });
    kernel.body.writes.forEach(({ operand, part }) => {
      latest.set(keyOf(inputs[operand]!), { part: first + part });
    });
  }
  /** Returns the part with a location's final value; the head's result is a part if it is a result of the op. */
  const partAt = (place: StagePlace): number => {
    const from = resolve(place);
    if ('part' in from) return from.part;
    const copy = add(
      { expr: E.input(0), operands: [from], dtype: head.dtypes[head.inputs.length]! },
      (name) => name,
    );
    return (copy as { readonly part: number }).part;
  };
  const results = Array.from({ length: resultCount }, (_, index) =>
    partAt({ kind: 'result', index }),
  );
  const written = writes.map((operand) => ({
    operand,
    part: partAt({ kind: 'operand', index: operand }),
  }));
  const body = { shape, parts, results, writes: written };
  const attr = (part: number, name: string) => names[part]!(name);
  return {
    op: head.op,
    inputs,
    attrs: headAttrs,
    body: { reads, body, dtype: head.dtypes[head.inputs.length]!, attr },
  };
}

/** Returns the operands whose elements the body reads. */
export function operandsRead({ parts }: FusedBody): ReadonlySet<number> {
  const read = parts.flatMap(({ expr, operands }) =>
    nodesOf(expr).flatMap((node) => {
      const from = node.kind === 'input' ? operands[node.index]! : null;
      return from && 'operand' in from ? [from.operand] : [];
    }),
  );
  return new Set(read);
}

/** Returns the operands that the body reads or writes. */
export function operandsUsed({ parts, writes }: FusedBody): ReadonlySet<number> {
  const read = parts.flatMap(({ operands }) =>
    operands.flatMap((from) => ('operand' in from ? [from.operand] : [])),
  );
  return new Set([...read, ...writes.map(({ operand }) => operand)]);
}

/** Returns the attributes of one stage, by its own names. */
function ownAttrs(attrs: Attrs, part: number): Attrs {
  const prefix = stageAttr(part, '');
  return Object.fromEntries(
    Object.entries(attrs).flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  );
}

function exprOf({ op }: Stage) {
  if (op.kernel.kind === 'pointwise') return op.kernel.expr;
  invariant(
    op.kernel.kind === 'named' && op.kernel.name === 'copyInto',
    `${op.name} in a staged op`,
  );
  return E.input(1);
}

function keyOf(place: StagePlace): string {
  return place.kind === 'inner' ? `inner ${place.slot}` : `${place.kind} ${place.index}`;
}
