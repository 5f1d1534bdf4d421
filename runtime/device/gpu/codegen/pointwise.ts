import { InvariantError, invariant } from '../../../errors/invariant.ts';
import type { Expr } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { inPrecision } from '../../../ops/expr/expr-precision.ts';
import { arithmeticOf } from '../../../ops/expr/expr-type.ts';
import type { DType } from '../../../spec/dtype.ts';
import { broadcastStrides, sameShape, sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../tensor-meta.ts';
import {
  input,
  type KernelPlan,
  output,
  type Slot,
  type Stage,
  scratch,
} from '../core/kernel-plan.ts';
import { maxArrays } from '../core/limits.ts';
import { binaryCode, compareCode, numberCode, powerCode, unaryCode } from './math-code.ts';
import { inputsOf, splitExpr } from './split-expr.ts';
import { StageWriter } from './stage-writer.ts';

/** Returns the attributes that affect the source: exponents. All others are kernel arguments. */
export function attrsInSource(expr: Expr): readonly string[] {
  const exponents = nodesOf(expr).flatMap((node) =>
    node.kind === 'binary' && node.fn === 'pow' && node.y.kind === 'attr' ? [node.y.name] : [],
  );
  return [...new Set(exponents)];
}

/** An input of the expression, as code. */
interface Source {
  readonly slot: Slot;
  readonly meta: TensorMeta;
}

/** Returns a plan with one thread per element of the output; operands broadcast, with any strides. */
export function pointwisePlan(
  expr: Expr,
  inputs: readonly TensorMeta[],
  out: TensorMeta,
  attrs: Attrs,
): KernelPlan {
  const sources: Source[] = inputs.map((meta, i) => ({ slot: input(i), meta }));
  const stages: Stage[] = [];
  const sizes: number[] = [];
  let rest = inPrecision(expr, 'single');
  while (inputsOf(rest).length > maxArrays) {
    const split = splitExpr(rest, maxArrays, sources.length);
    const arithmetic = arithmeticOf(split.part, dtypesOf(sources));
    const dtype = arithmetic === 'i32' ? 'int32' : 'float32';
    const meta = contiguousMeta({ dtype, shape: out.shape }, out.device);
    const slot = scratch(sizes.length);
    stages.push(pointwiseStage(split.part, sources, { slot, meta }, attrs));
    sizes.push(sizeOf(out.shape));
    sources.push({ slot, meta });
    rest = split.rest;
  }
  stages.push(pointwiseStage(rest, sources, { slot: output(0), meta: out }, attrs));
  return { scratch: sizes, stages };
}

const dtypesOf = (sources: readonly Source[]) => sources.map(({ meta }) => meta.dtype);

function pointwiseStage(
  expr: Expr,
  sources: readonly Source[],
  target: Source,
  attrs: Attrs,
): Stage {
  const w = new StageWriter();
  const out = target.meta;
  const used = inputsOf(expr);
  const strides = used.map((i) => {
    const { shape, strides } = sources[i]!.meta;
    return broadcastStrides(shape, strides, out.shape);
  });
  const indices = w.indices(out.shape, strides);
  const elements = new Map<number, string>();
  used.forEach((i, n) => {
    const ref = w.array(sources[i]!.slot, readsWhereItWrites(strides[n]!, out));
    elements.set(i, w.let(ref.at(indices[n]!)));
  });
  const value = new ExprWriter(w, elements, attrs).write(expr);
  const stored = storedAs(w, value, expr, dtypesOf(sources), out.dtype);
  return target.slot.kind === 'scratch'
    ? w.intoScratch(target.slot, sizeOf(out.shape), stored)
    : w.into(target.slot, out, stored);
}

function readsWhereItWrites(strides: readonly number[], out: TensorMeta): boolean {
  return sameShape(
    strides.filter((_, d) => out.shape[d] !== 1),
    out.strides.filter((_, d) => out.shape[d] !== 1),
  );
}

/** Converts a value to an integer or bool as stored, in float32. */
function storedAs(
  w: StageWriter,
  value: string,
  expr: Expr,
  dtypes: readonly DType[],
  dtype: DType,
): string {
  if (dtype === 'float32' || arithmeticOf(expr, dtypes) === 'i32') {
    return dtype === 'bool' && !isBool(expr, dtypes) ? compareCode('ne', value, '0.0') : value;
  }
  return dtype === 'bool' ? compareCode('ne', value, '0.0') : unaryCode.toInt(w, value);
}

function isBool(expr: Expr, dtypes: readonly DType[]): boolean {
  return expr.kind === 'compare' || (expr.kind === 'input' && dtypes[expr.index] === 'bool');
}

/** Writes a tree in static single assignment form: a repeated subtree is computed once. */
class ExprWriter {
  readonly #writer: StageWriter;
  readonly #elements: ReadonlyMap<number, string>;
  readonly #attrs: Attrs;
  readonly #written = new Map<Expr, string>();

  constructor(writer: StageWriter, elements: ReadonlyMap<number, string>, attrs: Attrs) {
    this.#writer = writer;
    this.#elements = elements;
    this.#attrs = attrs;
  }

  /** Returns the name of the variable that contains the value. */
  write(expr: Expr): string {
    const existing = this.#written.get(expr);
    if (existing !== undefined) return existing;
    const name =
      expr.kind === 'input' ? this.#element(expr.index) : this.#writer.let(this.#code(expr));
    this.#written.set(expr, name);
    return name;
  }

  #element(index: number): string {
    const name = this.#elements.get(index);
    invariant(name !== undefined, `expression reads operand ${index}, which is not there`);
    return name;
  }

  #code(expr: Exclude<Expr, { kind: 'input' }>): string {
    const w = this.#writer;
    switch (expr.kind) {
      case 'const':
        return numberCode(w, expr.value);
      case 'attr':
        return w.attr(expr.name);
      case 'unary':
        return unaryCode[expr.fn](w, this.write(expr.x));
      case 'binary': {
        if (expr.fn === 'pow') {
          const exponent = this.#known(expr.y);
          if (exponent !== null) return powerCode(w, this.write(expr.x), exponent);
        }
        return binaryCode[expr.fn](w, this.#operand(expr.x), this.#operand(expr.y));
      }
      case 'compare':
        return compareCode(expr.fn, this.write(expr.x), this.write(expr.y));
      case 'select':
        return this.#select(expr);
      case 'precision':
      case 'double':
        throw new InvariantError('the GPU computes in float32');
    }
  }

  /** Drivers fold `x * 0` to 0, which is wrong for NaN and infinities, and `x + 0` to x, which is wrong for -0. */
  #operand(expr: Expr): string {
    const isZero = expr.kind === 'const' && expr.value === 0;
    if (!isZero) return this.write(expr);
    return Object.is(expr.value, -0) ? `(-${this.#writer.zero})` : this.#writer.zero;
  }

  #select(expr: Extract<Expr, { kind: 'select' }>): string {
    const then = this.write(expr.then);
    const otherwise = this.write(expr.otherwise);
    // Compares with `===`, because drivers evaluate `NaN != 0` as false.
    return `(${this.write(expr.test)}===0.0?${otherwise}:${then})`;
  }

  #known(expr: Expr): number | null {
    if (expr.kind === 'const') return expr.value;
    return expr.kind === 'attr' ? (this.#attrs[expr.name] as number) : null;
  }
}
