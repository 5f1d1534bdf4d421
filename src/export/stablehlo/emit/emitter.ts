import { type Shape, sizeOf } from '../../../../runtime/spec/shape.ts';
import type {
  ArithmeticTarget,
  BinaryName,
  Direction,
  Element,
  UnaryName,
} from '../../lowering/target.ts';

/** A value in the text, with its type. */
export interface Value {
  readonly id: string;
  readonly element: Element;
  readonly shape: Shape;
}

export const typeOf = ({ element, shape }: Pick<Value, 'element' | 'shape'>): string =>
  `tensor<${[...shape, element].join('x')}>`;

const list = (numbers: readonly number[]): string => `[${numbers.join(', ')}]`;

type Binary = BinaryName | 'and' | 'or' | 'xor' | 'shift_right_logical' | 'shift_left';

/** Emits StableHLO ops, one per line; every method returns the value that its line defines. */
export class Emitter implements ArithmeticTarget<Value> {
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
    if (x.shape.join() === shape.join() && x.shape.length === shape.length) return x;
    return this.#reshaping('reshape', x, '', x.element, shape);
  }

  /** `dims[i]`: the dimension of the result that corresponds to dimension i of the operand. */
  broadcastIn(x: Value, dims: readonly number[], shape: Shape): Value {
    return this.#reshaping('broadcast_in_dim', x, `, dims = ${list(dims)}`, x.element, shape);
  }

  /** Dimensions are matched from the last one on, as everywhere in the tensor API. */
  broadcast(x: Value, shape: Shape): Value {
    if (x.shape.join() === shape.join() && x.shape.length === shape.length) return x;
    const lead = shape.length - x.shape.length;
    return this.broadcastIn(
      x,
      x.shape.map((_, d) => d + lead),
      shape,
    );
  }

  spread(x: Value, shape: Shape): Value {
    return this.broadcast(x, shape);
  }

  transpose(x: Value, dims: readonly number[]): Value {
    if (dims.every((dim, i) => dim === i)) return x;
    const shape = dims.map((dim) => x.shape[dim]!);
    return this.#reshaping('transpose', x, `, dims = ${list(dims)}`, x.element, shape);
  }

  slice(x: Value, starts: readonly number[], limits: readonly number[]): Value {
    const ranges = starts.map((start, d) => `${start}:${limits[d]}`).join(', ');
    const shape = starts.map((start, d) => limits[d]! - start);
    return this.#reshaping('slice', x, ` [${ranges}]`, x.element, shape);
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
    const shape = first.shape.map((own, d) => (d === dim ? size : own));
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

  iota(element: Element, shape: Shape, dim: number): Value {
    return this.define(
      `stablehlo.iota dim = ${dim} : ${typeOf({ element, shape })}`,
      element,
      shape,
    );
  }

  /** Reduces and drops dimensions; `init` is the neutral element. */
  reduce(name: Binary, x: Value, init: number, dims: readonly number[]): Value {
    if (dims.length === 0) return x;
    const start = this.constant(init, x.element);
    const shape = x.shape.filter((_, d) => !dims.includes(d));
    const types = `(${typeOf(x)}, ${typeOf(start)}) -> ${typeOf({ element: x.element, shape })}`;
    return this.define(
      `stablehlo.reduce(${x.id} init: ${start.id}) applies stablehlo.${name} across dimensions = ${list(dims)} : ${types}`,
      x.element,
      shape,
    );
  }

  /** Products of matrices: [batch…, m, k] and [batch…, k, n]. */
  matmul(a: Value, b: Value): Value {
    const batch = a.shape.slice(0, -2).map((_, d) => d);
    const [ra, rb] = [a.shape.length, b.shape.length];
    const shape = [...a.shape.slice(0, -1), b.shape[rb - 1]!];
    const batching = batch.length > 0 ? `batching_dims = ${list(batch)} x ${list(batch)}, ` : '';
    const types = `(${typeOf(a)}, ${typeOf(b)}) -> ${typeOf({ element: a.element, shape })}`;
    const text = `stablehlo.dot_general ${a.id}, ${b.id}, ${batching}contracting_dims = [${ra - 1}] x [${rb - 2}], precision = [HIGHEST, HIGHEST]`;
    return this.define(`${text} : ${types}`, a.element, shape);
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
      // Bounds that no integer reaches become those of the type.
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
