import { type Shape, sameShape, sizeOf } from '../../../../runtime/spec/shape.ts';
import {
  type BinaryName,
  type Direction,
  type Element,
  isFloat,
  type Reduction,
  type TensorTarget,
  type UnaryName,
} from '../../target/target.ts';

/** A value in the text, with its type. */
export interface Value {
  readonly id: string;
  readonly element: Element;
  readonly shape: Shape;
}

export const typeOf = ({ element, shape }: Pick<Value, 'element' | 'shape'>): string =>
  `tensor<${[...shape, element].join('x')}>`;

const list = (numbers: readonly number[]): string => `[${numbers.join(', ')}]`;

/** An attribute of MLIR's generic form. */
export const array = (numbers: readonly number[]): string =>
  numbers.length > 0 ? `array<i64: ${numbers.join(', ')}>` : 'array<i64>';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

const reductions = {
  sum: { op: 'add', neutral: () => 0 },
  prod: { op: 'multiply', neutral: () => 1 },
  max: {
    op: 'maximum',
    neutral: (element: Element) =>
      isFloat(element) ? Number.NEGATIVE_INFINITY : element === 'i32' ? -(2 ** 31) : 0,
  },
  min: {
    op: 'minimum',
    neutral: (element: Element) =>
      isFloat(element)
        ? Number.POSITIVE_INFINITY
        : (({ i32: 2 ** 31 - 1, ui8: 255 } as Partial<Record<Element, number>>)[element] ?? 1),
  },
} as const satisfies Record<Exclude<Reduction, 'mean'>, object>;

type Binary = BinaryName | 'and' | 'or' | 'xor' | 'shift_right_logical' | 'shift_left';

/** Emits StableHLO ops, one per line; every method returns the value that its line defines. */
export class Emitter implements TensorTarget<Value> {
  readonly form = 'StableHLO';
  readonly lines: string[] = [];
  #count = 0;
  #indent = '    ';

  fresh(): string {
    return `%${this.#count++}`;
  }

  /** Indents the lines of a region. */
  nested<T>(body: () => T): T {
    const before = this.#indent;
    this.#indent += '  ';
    try {
      return body();
    } finally {
      this.#indent = before;
    }
  }

  line(text: string): void {
    this.lines.push(this.#indent + text);
  }

  define(text: string, element: Element, shape: Shape): Value {
    const id = this.fresh();
    this.line(`${id} = ${text}`);
    return { id, element, shape };
  }

  /** A number in every element. */
  constant(value: number, element: Element, shape: Shape = []): Value {
    const type = typeOf({ element, shape });
    return this.define(
      `stablehlo.constant dense<${numberText(value, element)}> : ${type}`,
      element,
      shape,
    );
  }

  /** A constant, given element by element in row-major order. */
  literal(values: ArrayLike<number>, element: Element, shape: Shape): Value {
    if (values.length === 1 || sizeOf(shape) === 0) {
      return this.constant(values[0] ?? 0, element, shape);
    }
    const flat = Array.from(values, (value) => numberText(value, element)).join(', ');
    const type = typeOf({ element, shape: [values.length] });
    const text = `stablehlo.constant dense<[${flat}]> : ${type}`;
    return this.reshape(this.define(text, element, [values.length]), shape);
  }

  unary(name: UnaryName, x: Value): Value {
    return this.define(`stablehlo.${name} ${x.id} : ${typeOf(x)}`, x.element, x.shape);
  }

  binary(name: Binary, x: Value, y: Value): Value {
    return this.define(`stablehlo.${name} ${x.id}, ${y.id} : ${typeOf(x)}`, x.element, x.shape);
  }

  compare(direction: Direction, x: Value, y: Value): Value {
    const types = `(${typeOf(x)}, ${typeOf(y)}) -> ${typeOf({ element: 'i1', shape: x.shape })}`;
    return this.define(
      `stablehlo.compare ${direction}, ${x.id}, ${y.id} : ${types}`,
      'i1',
      x.shape,
    );
  }

  select(test: Value, then: Value, otherwise: Value): Value {
    const text = `stablehlo.select ${test.id}, ${then.id}, ${otherwise.id}`;
    return this.define(`${text} : ${typeOf(test)}, ${typeOf(then)}`, then.element, then.shape);
  }

  convert(x: Value, element: Element): Value {
    if (x.element === element) return x;
    return this.#reshaping('convert', x, '', element, x.shape);
  }

  reshape(x: Value, shape: Shape): Value {
    if (sameShape(x.shape, shape)) return x;
    return this.#reshaping('reshape', x, '', x.element, shape);
  }

  /** `dims[i]`: the dimension of the result that corresponds to dimension i of the operand. */
  broadcastIn(x: Value, dims: readonly number[], shape: Shape): Value {
    return this.#reshaping('broadcast_in_dim', x, `, dims = ${list(dims)}`, x.element, shape);
  }

  expand(x: Value, shape: Shape): Value {
    if (sameShape(x.shape, shape)) return x;
    const lead = shape.length - x.shape.length;
    return this.broadcastIn(
      x,
      x.shape.map((_, d) => d + lead),
      shape,
    );
  }

  spread(x: Value, shape: Shape): Value {
    return this.expand(x, shape);
  }

  transpose(x: Value, dims: readonly number[]): Value {
    if (dims.every((dim, i) => dim === i)) return x;
    const shape = dims.map((dim) => x.shape[dim]!);
    return this.#reshaping('transpose', x, `, dims = ${list(dims)}`, x.element, shape);
  }

  slice(x: Value, dim: number, start: number, end: number): Value {
    const bounds = x.shape.map((size, d) => (d === dim ? [start, end] : [0, size]));
    const ranges = bounds.map(([from, until]) => `${from}:${until}`).join(', ');
    const shape = x.shape.map((size, d) => (d === dim ? end - start : size));
    return this.#reshaping('slice', x, ` [${ranges}]`, x.element, shape);
  }

  sliceFrom(x: Value, dim: number, start: Value, size: number): Value {
    const zero = this.constant(0, start.element);
    const starts = x.shape.map((_, d) => (d === dim ? start : zero));
    const shape = x.shape.map((each, d) => (d === dim ? size : each));
    const attributes = `slice_sizes = ${array(shape)}`;
    return this.generic('dynamic_slice', [x, ...starts], attributes, x.element, shape);
  }

  reverse(x: Value, dims: readonly number[]): Value {
    return this.define(
      `stablehlo.reverse ${x.id}, dims = ${list(dims)} : ${typeOf(x)}`,
      x.element,
      x.shape,
    );
  }

  concatenate(parts: readonly Value[], dim: number): Value {
    const first = parts[0]!;
    const size = parts.reduce((sum, { shape }) => sum + shape[dim]!, 0);
    const shape = first.shape.map((each, d) => (d === dim ? size : each));
    const types = parts.map(typeOf).join(', ');
    const to = typeOf({ element: first.element, shape });
    const ids = parts.map(({ id }) => id).join(', ');
    return this.define(
      `stablehlo.concatenate ${ids}, dim = ${dim} : (${types}) -> ${to}`,
      first.element,
      shape,
    );
  }

  /** Pads with elements of `value`; a negative number crops. */
  pad(x: Value, value: Value, low: readonly number[], high: readonly number[]): Value {
    const shape = x.shape.map((size, d) => size + low[d]! + high[d]!);
    const interior = x.shape.map(() => 0);
    const text = `stablehlo.pad ${x.id}, ${value.id}, low = ${list(low)}, high = ${list(high)}, interior = ${list(interior)}`;
    const types = `(${typeOf(x)}, ${typeOf(value)}) -> ${typeOf({ element: x.element, shape })}`;
    return this.define(`${text} : ${types}`, x.element, shape);
  }

  padZeros(x: Value, low: readonly number[], high: readonly number[]): Value {
    return this.pad(x, this.constant(0, x.element), low, high);
  }

  iota(size: number, element: Element): Value {
    return this.iotaIn(element, [size], 0);
  }

  zeros(element: Element, shape: Shape): Value {
    return this.constant(0, element, shape);
  }

  /** Sizes are numbers here. */
  sizeNumber(size: number): Value {
    return this.constant(size, 'f64');
  }

  /** Each element's position along one dimension. */
  iotaIn(element: Element, shape: Shape, dim: number): Value {
    return this.define(
      `stablehlo.iota dim = ${dim} : ${typeOf({ element, shape })}`,
      element,
      shape,
    );
  }

  reduce(name: Reduction, x: Value, dims: readonly number[], keepDims = false): Value {
    if (dims.length === 0) return x;
    if (name === 'mean') {
      const sum = this.reduce('sum', x, dims, keepDims);
      const count = dims.reduce((product, d) => product * x.shape[d]!, 1);
      return this.binary('divide', sum, this.constant(count, x.element, sum.shape));
    }
    const { op, neutral } = reductions[name];
    const start = this.constant(neutral(x.element), x.element);
    const shape = x.shape.filter((_, d) => !dims.includes(d));
    const types = `(${typeOf(x)}, ${typeOf(start)}) -> ${typeOf({ element: x.element, shape })}`;
    const reduced = this.define(
      `stablehlo.reduce(${x.id} init: ${start.id}) applies stablehlo.${op} across dimensions = ${list(dims)} : ${types}`,
      x.element,
      shape,
    );
    if (!keepDims) return reduced;
    return this.reshape(
      reduced,
      x.shape.map((size, d) => (dims.includes(d) ? 1 : size)),
    );
  }

  matmul(a: Value, b: Value): Value {
    const batch = b.shape.slice(0, -2).map((_, d) => d);
    const [ra, rb] = [a.shape.length, b.shape.length];
    const shape = [...a.shape.slice(0, -1), b.shape[rb - 1]!];
    const batching = batch.length > 0 ? `batching_dims = ${list(batch)} x ${list(batch)}, ` : '';
    const types = `(${typeOf(a)}, ${typeOf(b)}) -> ${typeOf({ element: a.element, shape })}`;
    const text = `stablehlo.dot_general ${a.id}, ${b.id}, ${batching}contracting_dims = [${ra - 1}] x [${rb - 2}], precision = [HIGHEST, HIGHEST]`;
    return this.define(`${text} : ${types}`, a.element, shape);
  }

  /** `index` [count, …chosen] selects entries of dimensions `dim` to `dim + count`; the others are kept whole. */
  gather(x: Value, index: Value, dim: number): Value {
    const count = index.shape[0]!;
    const chosen = index.shape.slice(1);
    const rank = x.shape.length;
    const named = range(dim, dim + count);
    const shape = [...x.shape.slice(0, dim), ...chosen, ...x.shape.slice(dim + count)];
    const offsets = [...range(0, dim), ...range(dim + chosen.length, rank - count + chosen.length)];
    const sizes = x.shape.map((size, d) => (named.includes(d) ? 1 : size));
    const numbers = `offset_dims = [${offsets}], collapsed_slice_dims = [${named}], start_index_map = [${named}], index_vector_dim = 0`;
    const attributes = `dimension_numbers = #stablehlo.gather<${numbers}>, indices_are_sorted = false, slice_sizes = ${array(sizes)}`;
    return this.generic('gather', [x, index], attributes, x.element, shape);
  }

  /** A copy of `x` whose entries at `index` are replaced by those of `source`, or summed with them. */
  scatter(
    x: Value,
    index: Value,
    source: Value,
    { dim, how }: { readonly dim: number; readonly how: 'add' | 'replace' },
  ): Value {
    const count = index.shape[0]!;
    const chosen = index.shape.length - 1;
    const rank = x.shape.length;
    const named = range(dim, dim + count);
    const windows = [...range(0, dim), ...range(dim + chosen, rank - count + chosen)];
    const numbers = `update_window_dims = [${windows}], inserted_window_dims = [${named}], scatter_dims_to_operand_dims = [${named}], index_vector_dim = 0`;
    const attributes = `scatter_dimension_numbers = #stablehlo.scatter<${numbers}>, indices_are_sorted = false, unique_indices = false`;
    const type = `tensor<${x.element}>`;
    const sum = `%z = stablehlo.${x.element === 'i1' ? 'or' : 'add'} %x, %y : ${type} `;
    const [line, result] = how === 'add' ? [sum, '%z'] : ['', '%y'];
    const region = ` ^bb0(%x: ${type}, %y: ${type}): ${line}stablehlo.return ${result} : ${type} `;
    return this.generic('scatter', [x, index, source], attributes, x.element, x.shape, region);
  }

  entriesAt(x: Value, dim: number, places: Int32Array): Value {
    return this.gather(x, this.literal(places, 'i32', [1, places.length]), dim);
  }

  withElementsAt(x: Value, places: Int32Array, source: Value): Value {
    const flat = this.reshape(x, [sizeOf(x.shape)]);
    const index = this.literal(places, 'i32', [1, places.length]);
    const values = this.reshape(source, [places.length]);
    return this.reshape(this.scatter(flat, index, values, { dim: 0, how: 'replace' }), x.shape);
  }

  /** An op in MLIR's generic form. */
  generic(
    name: string,
    operands: readonly Value[],
    attributes: string,
    element: Element,
    shape: Shape,
    region = '',
  ): Value {
    const types = operands.map(typeOf).join(', ');
    const ids = operands.map(({ id }) => id).join(', ');
    const to = typeOf({ element, shape });
    const inside = region === '' ? '' : ` ({${region}})`;
    return this.define(
      `"stablehlo.${name}"(${ids})${attributes && ` <{${attributes}}>`}${inside} : (${types}) -> ${to}`,
      element,
      shape,
    );
  }

  #reshaping(name: string, x: Value, rest: string, element: Element, shape: Shape): Value {
    const types = `(${typeOf(x)}) -> ${typeOf({ element, shape })}`;
    return this.define(`stablehlo.${name} ${x.id}${rest} : ${types}`, element, shape);
  }
}

const scratch = new DataView(new ArrayBuffer(8));
const hex = (bits: bigint, digits: number) =>
  `0x${bits.toString(16).toUpperCase().padStart(digits, '0')}`;

/** Floating-point numbers as bits, so that all are exact, including NaN and infinities. */
function numberText(value: number, element: Element): string {
  switch (element) {
    case 'i1':
      return value === 0 ? 'false' : 'true';
    case 'f64':
      scratch.setFloat64(0, value);
      return hex(scratch.getBigUint64(0), 16);
    case 'f32':
    case 'bf16':
    case 'f16':
      scratch.setFloat32(0, value);
      if (element === 'f32') return hex(BigInt(scratch.getUint32(0)), 8);
      return Number.isFinite(value) ? value.toExponential(9) : specialHalf(value, element);
    case 'i32':
      // Bounds outside the integer type are replaced by the type's bounds.
      return String(Math.trunc(Math.min(Math.max(value, -(2 ** 31)), 2 ** 31 - 1)));
    default:
      return String(Math.trunc(value));
  }
}

function specialHalf(value: number, element: 'f16' | 'bf16'): string {
  const [infinity, nan] = element === 'f16' ? ['7C00', '7E00'] : ['7F80', '7FC0'];
  if (Number.isNaN(value)) return `0x${nan}`;
  return value > 0 ? `0x${infinity}` : `0x${element === 'f16' ? 'FC00' : 'FF80'}`;
}
