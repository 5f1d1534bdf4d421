import type { OnnxGraph, OnnxNode, OnnxTensor } from '../../../../runtime/onnx/format/proto.ts';
import { scalarCall } from '../../lowering/scalars.ts';
import {
  addDims,
  broadcastDims,
  type Dim,
  type Dims,
  fixedDims,
  isFixed,
  sameDims,
  sizeOfDims,
} from '../../target/dims.ts';
import type {
  BinaryName,
  Direction,
  Element,
  Reduction,
  TensorTarget,
  UnaryName,
} from '../../target/target.ts';
import { atan2, composedUnary } from './composed.ts';
import { constantBytes } from './constant-bytes.ts';
import { attributeOf, emptyTensor, graphOf, type NodeAttribute, valueInfo } from './graph.ts';

/** A value of the graph, with its type. */
export interface Value {
  readonly id: string;
  readonly element: Element;
  readonly shape: Dims;
}

type Attributes = Readonly<Record<string, NodeAttribute>>;

/** Returns a size of the call, int64 [1]. */
export type SizeReader = (size: number) => Value;

const unaryOps: { readonly [N in UnaryName]?: string } = {
  abs: 'Abs',
  ceil: 'Ceil',
  cosine: 'Cos',
  exponential: 'Exp',
  floor: 'Floor',
  log: 'Log',
  negate: 'Neg',
  round_nearest_even: 'Round',
  sign: 'Sign',
  sine: 'Sin',
  sqrt: 'Sqrt',
  tanh: 'Tanh',
};

const binaryOps: { readonly [N in BinaryName]?: string } = {
  add: 'Add',
  subtract: 'Sub',
  multiply: 'Mul',
  divide: 'Div',
  maximum: 'Max',
  minimum: 'Min',
  power: 'Pow',
};

const comparisons: { readonly [D in Exclude<Direction, 'NE'>]: string } = {
  EQ: 'Equal',
  LT: 'Less',
  LE: 'LessOrEqual',
  GT: 'Greater',
  GE: 'GreaterOrEqual',
};

const reductions: { readonly [R in Reduction]: string } = {
  sum: 'ReduceSum',
  prod: 'ReduceProd',
  max: 'ReduceMax',
  min: 'ReduceMin',
  mean: 'ReduceMean',
};

/** Integers that runtimes don't compute with: they are widened for the op and narrowed afterwards. */
const isNarrow = (element: Element): boolean => element === 'i1' || element === 'ui8';

/** Emits ONNX nodes; every method returns the value that its node defines. */
export class Emitter implements TensorTarget<Value> {
  readonly form = 'ONNX';
  /** Constants and weights, visible in every nested graph. */
  readonly initializers: OnnxTensor[] = [];
  readonly #constants = new Map<string, Value>();
  #nodes: OnnxNode[] = [];
  #count = 0;
  #isNested = false;
  readonly #sizes = new Map<number, Value>();
  readonly #size: SizeReader;

  /** Results of transposes, by name. */
  readonly #transposed = new Map<
    string,
    { readonly of: Value; readonly dims: readonly number[] }
  >();

  constructor(size: SizeReader) {
    this.#size = size;
  }

  get nodes(): OnnxNode[] {
    return this.#nodes;
  }

  fresh(): string {
    return `v${this.#count++}`;
  }

  /** Emits a node with several results. Null: an omitted optional operand. */
  node(
    opType: string,
    inputs: readonly (Value | null)[],
    results: readonly Omit<Value, 'id'>[],
    attributes: Attributes = {},
  ): Value[] {
    const values = results.map(({ element, shape }) => ({ id: this.fresh(), element, shape }));
    this.#nodes.push({
      opType,
      name: `${opType}_${this.#nodes.length}`,
      input: inputs.map((value) => value?.id ?? ''),
      output: values.map(({ id }) => id),
      attribute: Object.entries(attributes).map(([name, value]) => attributeOf(name, value)),
    });
    return values;
  }

  /** The value under a separate name. */
  named(value: Value, id: string): Value {
    const renamed = { ...value, id };
    this.#nodes.push({
      opType: 'Identity',
      name: `Identity_${this.#nodes.length}`,
      input: [value.id],
      output: [id],
      attribute: [],
    });
    return renamed;
  }

  op(
    opType: string,
    inputs: readonly (Value | null)[],
    element: Element,
    shape: Dims,
    attributes: Attributes = {},
  ): Value {
    return this.node(opType, inputs, [{ element, shape }], attributes)[0]!;
  }

  /** A 0-d number, which broadcasts: shapes are ignored. */
  constant(value: number, element: Element): Value {
    return this.literal([value], element, []);
  }

  /** A constant, given element by element in row-major order. */
  literal(values: ArrayLike<number>, element: Element, shape: readonly number[]): Value {
    const list = Array.from(values, (value) => (Object.is(value, -0) ? '-0' : value));
    const key = `${element} ${shape.join('x')} ${list.join()}`;
    const known = this.#constants.get(key);
    if (known) return known;
    const constant = { id: `c${this.#constants.size}`, element, shape };
    const bytes = constantBytes(values, element);
    this.initializers.push(emptyTensor(constant.id, element, shape, bytes));
    this.#constants.set(key, constant);
    return constant;
  }

  /** Integers, int64 [n]. */
  ints(values: readonly number[]): Value {
    return this.literal(values, 'i64', [values.length]);
  }

  /** A size, int64 [1]. */
  dim(dim: Dim): Value {
    if (isFixed(dim)) return this.ints([dim]);
    if ('size' in dim) return this.#sizeOf(dim.size);
    const [fn, ...args] = dim;
    const sizes = args as readonly Dim[];
    const [x, y] = sizes as [Dim, Dim];
    if (sizes.length === 2 && (fn === '+' || fn === '-' || fn === '*')) {
      const name = fn === '+' ? 'add' : fn === '-' ? 'subtract' : 'multiply';
      // Fractions are computed in float64, as in JavaScript.
      if (![x, y].some((each) => isFixed(each) && !Number.isInteger(each))) {
        return this.binary(name, this.dim(x), this.dim(y));
      }
    }
    return this.convert(this.#sizeNumber(dim), 'i64');
  }

  #sizeOf(size: number): Value {
    const known = this.#sizes.get(size) ?? this.#size(size);
    // Values computed in a nested graph are not visible outside it.
    if (!this.#isNested) this.#sizes.set(size, known);
    return known;
  }

  /** A number computed from sizes, float64 []. */
  sizeNumber(dim: Dim): Value {
    return this.reshape(this.#sizeNumber(dim), []);
  }

  #sizeNumber(dim: Dim): Value {
    if (isFixed(dim)) return this.literal([dim], 'f64', [1]);
    if ('size' in dim) return this.convert(this.#sizeOf(dim.size), 'f64');
    const [fn, ...args] = dim;
    return scalarCall(
      this,
      fn as string,
      args.map((arg) => this.#sizeNumber(arg as Dim)),
    );
  }

  /** Sizes, int64 [n]. */
  dims(shape: Dims): Value {
    const fixed = fixedDims(shape);
    if (fixed) return this.ints(fixed);
    if (shape.length === 1) return this.dim(shape[0]!);
    const parts = shape.map((dim) => this.dim(dim));
    return this.op('Concat', parts, 'i64', [shape.length], { axis: 0 });
  }

  unary(name: UnaryName, x: Value): Value {
    const opType = unaryOps[name];
    return opType ? this.op(opType, [x], x.element, x.shape) : composedUnary(this, name, x);
  }

  binary(name: BinaryName, x: Value, y: Value): Value {
    const shape = broadcastDims(x.shape, y.shape);
    const opType = binaryOps[name];
    if (name === 'remainder') return this.op('Mod', [x, y], x.element, shape, { fmod: 1 });
    if (opType) return this.op(opType, [x, y], x.element, shape);
    return atan2(this, x, y);
  }

  compare(direction: Direction, x: Value, y: Value): Value {
    const shape = broadcastDims(x.shape, y.shape);
    if (direction === 'NE') return this.not(this.compare('EQ', x, y));
    return this.op(comparisons[direction], [x, y], 'i1', shape);
  }

  not(x: Value): Value {
    return this.op('Not', [x], 'i1', x.shape);
  }

  logical(opType: 'And' | 'Or', x: Value, y: Value): Value {
    return this.op(opType, [x, y], 'i1', broadcastDims(x.shape, y.shape));
  }

  select(test: Value, then: Value, otherwise: Value): Value {
    if (isNarrow(then.element)) {
      const wide = this.select(test, this.convert(then, 'i32'), this.convert(otherwise, 'i32'));
      return this.convert(wide, then.element);
    }
    const shape = broadcastDims(test.shape, then.shape, otherwise.shape);
    return this.op('Where', [test, then, otherwise], then.element, shape);
  }

  convert(x: Value, element: Element): Value {
    if (x.element === element) return x;
    // onnxruntime merges two casts into one, which gives other bytes on WebAssembly for numbers outside 0 to 255.
    if (element === 'ui8' && x.element === 'i32') {
      const byte = this.op('Mod', [x, this.constant(256, 'i32')], 'i32', x.shape);
      return this.#cast(byte, element);
    }
    return this.#cast(x, element);
  }

  #cast(x: Value, element: Element): Value {
    return this.op('Cast', [x], element, x.shape, {
      to: emptyTensor('', element, [], new Uint8Array()).dataType!,
    });
  }

  /** Unchanged, since ONNX broadcasts. */
  spread(x: Value): Value {
    return x;
  }

  reshape(x: Value, shape: Dims): Value {
    if (sameDims(x.shape, shape)) return x;
    // Otherwise 0 would mean the operand's own size.
    const attributes = shape.includes(0) ? { allowzero: 1 } : {};
    return this.op('Reshape', [x, this.dims(shape)], x.element, shape, attributes);
  }

  /** Expands the operand; dimensions are matched from the last one on. */
  expand(x: Value, shape: Dims): Value {
    if (sameDims(x.shape, shape)) return x;
    return this.op('Expand', [x, this.dims(shape)], x.element, shape);
  }

  /** Transposes; nested transposes become one node, or none if they cancel. */
  transpose(x: Value, dims: readonly number[]): Value {
    const before = this.#transposed.get(x.id);
    if (before) {
      return this.transpose(
        before.of,
        dims.map((dim) => before.dims[dim]!),
      );
    }
    if (dims.every((dim, i) => dim === i)) return x;
    const shape = dims.map((dim) => x.shape[dim]!);
    const result = this.op('Transpose', [x], x.element, shape, { perm: dims });
    this.#transposed.set(result.id, { of: x, dims });
    return result;
  }

  /** Entries of one dimension from `start` to `end`, int64 [1], or sizes. */
  slice(x: Value, dim: number, start: Dim | Value, end: Dim | Value, size: Dim, step = 1): Value {
    const bound = (each: Dim | Value) =>
      typeof each === 'object' && 'id' in each ? each : this.dim(each);
    const shape = x.shape.map((item, d) => (d === dim ? size : item));
    const steps = step === 1 ? [] : [this.ints([step])];
    const inputs = [x, bound(start), bound(end), this.ints([dim]), ...steps];
    return this.op('Slice', inputs, x.element, shape);
  }

  sliceFrom(x: Value, dim: number, start: Value, size: Dim): Value {
    const first = this.reshape(start, [1]);
    return this.slice(x, dim, first, this.binary('add', first, this.dim(size)), size);
  }

  padZeros(x: Value, low: Dims, high: Dims): Value {
    const element = isNarrow(x.element) ? 'i32' : x.element;
    const shape = x.shape.map((size, d) => addDims(addDims(low[d]!, size), high[d]!));
    const inputs = [this.convert(x, element), this.dims([...low, ...high])];
    return this.convert(this.op('Pad', inputs, element, shape), x.element);
  }

  concatenate(parts: readonly Value[], dim: number, size: Dim): Value {
    const first = parts[0]!;
    const shape = first.shape.map((each, d) => (d === dim ? size : each));
    return this.op('Concat', parts, first.element, shape, { axis: dim });
  }

  /** Reduces dimensions, dropping them or keeping size 1. */
  reduce(name: Reduction, x: Value, dims: readonly number[], keepDims = false): Value {
    if (dims.length === 0) return x;
    const shape = x.shape.flatMap((size, d) => (!dims.includes(d) ? [size] : keepDims ? [1] : []));
    const attributes = { keepdims: keepDims ? 1 : 0 };
    return this.op(reductions[name], [x, this.ints(dims)], x.element, shape, attributes);
  }

  iota(size: Dim, element: Element): Value {
    const scalar = this.reshape(this.dim(size), []);
    const inputs = [this.constant(0, 'i64'), scalar, this.constant(1, 'i64')];
    return this.convert(this.op('Range', inputs, 'i64', [size]), element);
  }

  entriesAt(x: Value, dim: number, places: Int32Array): Value {
    const shape = x.shape.map((size, d) => (d === dim ? places.length : size));
    const index = this.literal(places, 'i64', [places.length]);
    return this.op('Gather', [x, index], x.element, shape, { axis: dim });
  }

  withElementsAt(x: Value, places: Int32Array, source: Value): Value {
    const size = sizeOfDims(x.shape);
    const index = this.literal(places, 'i64', [places.length]);
    const inputs = [this.reshape(x, [size]), index, this.reshape(source, [places.length])];
    const written = this.op('ScatterElements', inputs, x.element, [size], { axis: 0 });
    return this.reshape(written, x.shape);
  }

  matmul(a: Value, b: Value): Value {
    const batch = broadcastDims(a.shape.slice(0, -2), b.shape.slice(0, -2));
    return this.op('MatMul', [a, b], a.element, [...batch, a.shape.at(-2)!, b.shape.at(-1)!]);
  }

  zeros(element: Element, shape: Dims): Value {
    return this.expand(this.constant(0, element), shape);
  }

  /** Returns the nodes that the body emits as a nested graph, which sees the surrounding values. */
  nested(
    name: string,
    inputs: readonly Value[],
    body: () => readonly Value[],
  ): {
    readonly graph: OnnxGraph;
    readonly results: readonly Value[];
  } {
    const [around, wasNested] = [this.#nodes, this.#isNested];
    this.#nodes = [];
    this.#isNested = true;
    try {
      // A graph can only return values that its own nodes define.
      const results = body().map((value) =>
        this.op('Identity', [value], value.element, value.shape),
      );
      const info = (value: Value) =>
        valueInfo(value.id, value.element, value.shape, (dim) => JSON.stringify(dim));
      return { graph: graphOf(name, this.#nodes, inputs.map(info), results.map(info)), results };
    } finally {
      this.#nodes = around;
      this.#isNested = wasNested;
    }
  }
}
