import { invariant } from '../../../../errors/invariant.ts';
import { inPrecision } from '../../../../ops/expr/expr-precision.ts';
import type { DType } from '../../../../spec/dtype.ts';
import { broadcastStrides } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import { stageAttr } from '../../../staged-body.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import {
  nodesBefore,
  type TiledBody,
  type TileNode,
  type TileSource,
} from '../../../tiled-body.ts';
import { exponentsOf, exprText } from '../expr-text.ts';
import { indexTexts, walksOf } from '../index-text.ts';
import { roundedName } from '../pointwise-kernel.ts';
import { lanes, streamTexts } from '../random-kernel.ts';
import { type RowFold, rowOps } from '../row-kernels.ts';
import type { WgslWriter } from '../wgsl-writer.ts';

/** A number of each row, computed from all its columns before the values that depend on it. */
interface RowNumber {
  /** The node along whose rows it is computed. */
  readonly node: number;
  readonly fold: RowFold;
  /** The index among the numbers of the node. */
  readonly place: number;
}

/** Returns the row numbers of a tiled op, in dependency order. */
export function rowNumbersOf({ nodes }: TiledBody): readonly RowNumber[] {
  return nodes.flatMap((each, node) =>
    each.kind === 'row'
      ? rowOps[each.op].rowFolds.map((fold, place) => ({ node, fold, place }))
      : [],
  );
}

/** Returns the names of the attributes that are exponents. */
export function tileExponents({ nodes }: TiledBody): readonly string[] {
  return nodes.flatMap((node) =>
    node.kind === 'pointwise'
      ? exponentsOf(node.expr).map((name) => stageAttr(node.part, name))
      : [],
  );
}

/** The context of elements' texts: the op, its operands and numbers, and where an operand is bound. */
export interface TileValues {
  readonly body: TiledBody;
  readonly inputs: readonly TensorMeta[];
  readonly attrs: Attrs;
  /** Returns an operand's index in the stage, and the text of its first element. */
  readonly place: (operand: number) => { readonly operand: number; readonly first: string };
}

/** A quantity computed from all elements of a row or column: a number of each row, or a result. */
export type TileStep =
  | { readonly kind: 'number'; readonly number: RowNumber }
  /** `index` is the index among the op's results. */
  | { readonly kind: 'result'; readonly index: number; readonly node: number };

/** Returns the nodes whose elements a step's value is computed from. */
function nodesReadBy(step: TileStep, { nodes }: TiledBody): readonly number[] {
  if (step.kind === 'result') return [step.node];
  const row = nodes[step.number.node]!;
  invariant(row.kind === 'row', 'numbers of rows belong to an op along rows');
  return row.sources;
}

/** Returns the products among the nodes that a step's value is computed from. */
export function productsOf(step: TileStep, body: TiledBody): readonly number[] {
  return nodesBefore(body, nodesReadBy(step, body)).filter(
    (index) => body.nodes[index]!.kind === 'product',
  );
}

/**
 * Writes the function `value`, an element's contribution to step `step`; products `p…` and row numbers `s…` are
 * parameters. A single function for all steps, because compilers inline it where it is called.
 */
export function valueFunction(
  w: WgslWriter,
  values: TileValues,
  steps: readonly TileStep[],
  products: readonly number[],
): void {
  const { body } = values;
  const parameters = [
    'step : u32',
    'z : u32',
    'row : u32',
    'column : u32',
    ...products.map((index) => `p${index} : f32`),
    ...rowNumbersOf(body).map((_, i) => `s${i} : f32`),
  ];
  w.function(`value(${parameters.join(', ')}) -> f32`, () => {
    const texts = new Map<number, string>();
    steps.forEach((step, number) => {
      const read = nodesReadBy(step, body);
      for (const index of nodesBefore(body, read)) {
        if (!texts.has(index)) texts.set(index, nodeText(w, values, index, texts));
      }
      const operandTexts = read.map((index) => texts.get(index)!);
      const text =
        step.kind === 'result' ? operandTexts[0]! : contribution(step.number, operandTexts, body);
      w.line(
        number < steps.length - 1
          ? `if (step == ${number}u) { return ${text}; }`
          : `return ${text};`,
      );
    });
  });
}

/** Returns the text of an element's contribution to a number of its row, from earlier numbers. */
function contribution(
  { node, fold, place }: RowNumber,
  own: readonly string[],
  body: TiledBody,
): string {
  return fold.value(own, numberNames(node, place, body));
}

/** Returns the names of the first `count` numbers of a node. */
function numberNames(node: number, count: number, body: TiledBody): readonly string[] {
  const first = rowNumbersOf(body).findIndex((each) => each.node === node);
  return Array.from({ length: count }, (_, i) => `s${first + i}`);
}

/** Writes the element of one node at `z`, `row` and `column`. */
function nodeText(
  w: WgslWriter,
  values: TileValues,
  index: number,
  known: ReadonlyMap<number, string>,
): string {
  const { body } = values;
  const node = body.nodes[index]!;
  switch (node.kind) {
    case 'product':
      return `p${index}`;
    case 'uniform':
      return w.let(uniformText(w, node.part, body));
    case 'row': {
      const { rowFolds, element } = rowOps[node.op];
      const sourceTexts = node.sources.map((from) => known.get(from)!);
      return w.let(element(sourceTexts, numberNames(index, rowFolds.length, body)));
    }
    case 'pointwise':
      return pointwiseText(w, values, `n${index}`, node, known);
  }
}

function pointwiseText(
  w: WgslWriter,
  { body, inputs, attrs, place }: TileValues,
  prefix: string,
  { expr: generic, sources, dtype, shape, part }: Extract<TileNode, { kind: 'pointwise' }>,
  known: ReadonlyMap<number, string>,
): string {
  const operands = sources.flatMap((from) => ('operand' in from ? [from.operand] : []));
  const strides = operands.map((operand) => {
    const meta = inputs[operand]!;
    return broadcastStrides(meta.shape, meta.strides, shape);
  });
  const { loops } = walksOf(
    shape.slice(0, -2),
    strides.map((each) => each.slice(0, -2)),
  );
  const bases = indexTexts(w, loops, 'z', `${prefix}_`);
  const times = (name: string, coordinate: string, stride: number) => {
    if (stride === 0) return '';
    return stride === 1 ? ` + ${coordinate}` : ` + ${coordinate} * ${w.count(name, stride)}`;
  };
  const loaded = new Map<number, string>();
  const read = (operand: number): string => {
    let name = loaded.get(operand);
    if (name === undefined) {
      const i = operands.indexOf(operand);
      const [row, column] = strides[i]!.slice(-2) as [number, number];
      const bound = place(operand);
      const along = `${times(`${prefix}_r${i}`, 'row', row)}${times(`${prefix}_c${i}`, 'column', column)}`;
      name = w.let(w.load(bound.operand, `${bound.first} + ${bases[i]!}${along}`));
      loaded.set(operand, name);
    }
    return name;
  };
  const expr = inPrecision(generic, 'single');
  const dtypes = sources.map((from) => dtypeOf(from, body, inputs));
  const value = exprText(w, expr, dtypes, dtype, {
    element: (index) => {
      const from = sources[index]!;
      return 'node' in from ? known.get(from.node)! : read(from.operand);
    },
    attr: (name, form) => {
      const full = stageAttr(part, name);
      const field = `a_${full}`.replaceAll(/\W/g, '_');
      if (form === 'f32') return w.uniform(field, { kind: 'attr', name: full });
      return w.uniform(`${field}_int`, { kind: 'attr', name: full, integer: true });
    },
    exponent: (name) => Number(attrs[stageAttr(part, name)]),
  });
  return roundedName(w, dtype, value);
}

function dtypeOf(from: TileSource, { nodes }: TiledBody, inputs: readonly TensorMeta[]): DType {
  if ('operand' in from) return inputs[from.operand]!.dtype;
  const node = nodes[from.node]!;
  return node.kind === 'pointwise' ? node.dtype : 'float32';
}

/** Returns the text of the element's number in the stream of the part's seed, as `random-kernel.ts` computes it. */
function uniformText(w: WgslWriter, part: number, { rows, columns }: TiledBody): string {
  const { low, high, key0, key1, skipped } = streamTexts(
    w,
    `_${part}`,
    (attrs, name) => attrs[stageAttr(part, name)] as number,
  );
  const size = `(z * ${w.count('rows', rows)} + row) * ${w.count('columns', columns)} + column`;
  const place = w.let(`${skipped} + ${size}`);
  const block = w.let(`${place} / ${lanes}u`);
  const first = w.let(`${low} + ${block}`);
  const carried = `${high} + select(0u, 1u, ${first} < ${block})`;
  const words = `f_philox(vec2<u32>(${first}, ${carried}), vec2<u32>(${key0}, ${key1}))`;
  const drawn = w.let(`f_uniform(${words})`);
  return `${drawn}[${place} % ${lanes}u]`;
}
