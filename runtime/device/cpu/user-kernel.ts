/** User kernels on the CPU: closures compiled from their code, which run for each result element. */

import { math } from '../../numerics/math.ts';
import type { TypedArray } from '../../spec/dtype.ts';
import type { Launch } from '../device.ts';
import {
  axisSizes,
  isSurelyInside,
  type KernelBinaryFn,
  type KernelCode,
  type KernelNumber,
  type KernelStatement,
  type KernelTest,
  type KernelUnaryFn,
} from '../kernel-code.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { heap } from './core/heap.ts';
import { indexOf } from './core/kernel.ts';
import { comparisons } from './scalar/pointwise.ts';

/** The state shared by the closures of one launch. */
interface Frame {
  /** x, y and z. */
  readonly thread: [number, number, number];
  readonly locals: number[];
  /** Each input's elements, and the index of its first one. */
  readonly data: TypedArray[];
  readonly first: number[];
  result: number;
}

type NumberOf = (frame: Frame) => number;
type TestOf = (frame: Frame) => boolean;

/** How a statement ends. */
const fallsThrough = 0;
const breaks = 1;
const continues = 2;
const returns = 3;
type Ending = typeof fallsThrough | typeof breaks | typeof continues | typeof returns;
type Run = (frame: Frame) => Ending;

const round = Math.fround;

/** Binds a kernel to its operands' metas. Every operation is rounded to float32, as on a GPU. */
export function userKernel(
  code: KernelCode,
  inputs: readonly TensorMeta[],
  out: TensorMeta,
): Launch {
  const sizes = axisSizes(out.shape);
  const run = new Closures(inputs, sizes).block(code.body);
  const frame: Frame = {
    thread: [0, 0, 0],
    locals: Array<number>(code.locals).fill(0),
    data: [],
    first: [],
    result: 0,
  };
  const { thread, locals, data, first } = frame;
  const count = out.shape.reduce((product, size) => product * size, 1);
  return (operands, [target]) => {
    if (count === 0) return;
    inputs.forEach(({ dtype }, i) => {
      data[i] = heap.view(dtype);
      first[i] = indexOf(operands[i]!, dtype);
    });
    const results = heap.view('float32');
    let to = indexOf(target!, 'float32');
    for (thread[2] = 0; thread[2] < sizes[2]; thread[2]++) {
      for (thread[1] = 0; thread[1] < sizes[1]; thread[1]++) {
        for (thread[0] = 0; thread[0] < sizes[0]; thread[0]++) {
          locals.fill(0);
          run(frame);
          results[to++] = frame.result;
        }
      }
    }
    // Drops views of the memory, which may grow.
    data.length = 0;
  };
}

const unary: { readonly [F in KernelUnaryFn]: (x: number) => number } = {
  neg: (x) => -x,
  abs: Math.abs,
  acos: (x) => round(math.acos(x)),
  acosh: (x) => round(math.acosh(x)),
  asin: (x) => round(math.asin(x)),
  asinh: (x) => round(math.asinh(x)),
  atan: (x) => round(math.atan(x)),
  atanh: (x) => round(math.atanh(x)),
  ceil: Math.ceil,
  cos: (x) => round(math.cos(x)),
  cosh: (x) => round(math.cosh(x)),
  exp: (x) => round(math.exp(x)),
  expm1: (x) => round(math.expm1(x)),
  floor: Math.floor,
  log: (x) => round(math.log(x)),
  log10: (x) => round(math.log10(x)),
  log1p: (x) => round(math.log1p(x)),
  log2: (x) => round(math.log2(x)),
  round: (x) => (x - Math.floor(x) >= 0.5 ? Math.floor(x) + 1 : Math.floor(x)),
  sign: Math.sign,
  sin: (x) => round(math.sin(x)),
  sinh: (x) => round(math.sinh(x)),
  sqrt: (x) => round(Math.sqrt(x)),
  tan: (x) => round(math.tan(x)),
  tanh: (x) => round(math.tanh(x)),
  trunc: Math.trunc,
};

const binary: { readonly [F in KernelBinaryFn]: (x: number, y: number) => number } = {
  add: (x, y) => round(x + y),
  sub: (x, y) => round(x - y),
  mul: (x, y) => round(x * y),
  div: (x, y) => round(x / y),
  rem: (x, y) => round(x % y),
  pow: (x, y) => round(math.pow(x, y)),
  min: Math.min,
  max: Math.max,
  atan2: (x, y) => round(math.atan2(x, y)),
};

class Closures {
  readonly #inputs: readonly TensorMeta[];
  readonly #sizes: readonly [number, number, number];

  constructor(inputs: readonly TensorMeta[], sizes: readonly [number, number, number]) {
    this.#inputs = inputs;
    this.#sizes = sizes;
  }

  block(statements: readonly KernelStatement[]): Run {
    const runs = statements.map((statement) => this.#statement(statement));
    const [only] = runs;
    if (only && runs.length === 1) return only;
    return (frame) => {
      for (let i = 0; i < runs.length; i++) {
        const ending = runs[i]!(frame);
        if (ending !== fallsThrough) return ending;
      }
      return fallsThrough;
    };
  }

  #statement(statement: KernelStatement): Run {
    switch (statement.kind) {
      case 'set': {
        const { id } = statement;
        const value = this.#number(statement.value);
        return (frame) => {
          frame.locals[id] = value(frame);
          return fallsThrough;
        };
      }
      case 'if': {
        const test = this.#test(statement.test);
        const [yes, no] = [this.block(statement.yes), this.block(statement.no)];
        return (frame) => (test(frame) ? yes(frame) : no(frame));
      }
      case 'loop':
        return this.#loop(statement);
      case 'break':
        return () => breaks;
      case 'continue':
        return () => continues;
      case 'return': {
        const value = this.#number(statement.value);
        return (frame) => {
          frame.result = value(frame);
          return returns;
        };
      }
    }
  }

  #loop(loop: Extract<KernelStatement, { kind: 'loop' }>): Run {
    const { testFirst } = loop;
    const test = this.#test(loop.test);
    const [body, update] = [this.block(loop.body), this.block(loop.update)];
    return (frame) => {
      let goes = !testFirst || test(frame);
      while (goes) {
        const ending = body(frame);
        if (ending === returns) return returns;
        if (ending === breaks) break;
        update(frame);
        goes = test(frame);
      }
      return fallsThrough;
    };
  }

  #number(number: KernelNumber): NumberOf {
    switch (number.kind) {
      case 'number': {
        const value = round(number.value);
        return () => value;
      }
      case 'thread': {
        const { axis } = number;
        return ({ thread }) => thread[axis];
      }
      case 'size': {
        const size = this.#sizes[number.axis];
        return () => size;
      }
      case 'local': {
        const { id } = number;
        return ({ locals }) => locals[id]!;
      }
      case 'element':
        return this.#element(number.input, number.at);
      case 'unary': {
        const fn = unary[number.fn];
        const x = this.#number(number.x);
        return (frame) => fn(x(frame));
      }
      case 'binary': {
        const fn = binary[number.fn];
        const [x, y] = [this.#number(number.x), this.#number(number.y)];
        return (frame) => fn(x(frame), y(frame));
      }
      case 'choose': {
        const test = this.#test(number.test);
        const [yes, no] = [this.#number(number.yes), this.#number(number.no)];
        return (frame) => (test(frame) ? yes(frame) : no(frame));
      }
    }
  }

  #element(input: number, at: readonly KernelNumber[]): NumberOf {
    const { shape, strides } = this.#inputs[input]!;
    const indices = at.map((index) => this.#number(index));
    const isInside = at.map((index, d) => isSurelyInside(index, shape[d]!, this.#sizes));
    return (frame) => {
      let place = frame.first[input]!;
      for (let d = 0; d < indices.length; d++) {
        const index = Math.floor(indices[d]!(frame));
        if (!isInside[d] && !(index >= 0 && index < shape[d]!)) return NaN;
        place += index * strides[d]!;
      }
      return round(frame.data[input]![place]!);
    };
  }

  #test(test: KernelTest): TestOf {
    switch (test.kind) {
      case 'always':
        return () => test.value;
      case 'compare': {
        const fn = comparisons[test.fn];
        const [x, y] = [this.#number(test.x), this.#number(test.y)];
        return (frame) => fn(x(frame), y(frame));
      }
      case 'both':
      case 'either': {
        const [x, y] = [this.#test(test.x), this.#test(test.y)];
        if (test.kind === 'both') return (frame) => x(frame) && y(frame);
        return (frame) => x(frame) || y(frame);
      }
      case 'not': {
        const x = this.#test(test.x);
        return (frame) => !x(frame);
      }
    }
  }
}
